# SPDX-License-Identifier: Apache-2.0
"""What several test folders share: te problems with exact answers, and a reference interpreter."""
