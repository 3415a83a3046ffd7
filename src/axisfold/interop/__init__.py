# SPDX-License-Identifier: Apache-2.0
"""Arrays of any library in and out; libraries are found through sys.modules, never imported."""
