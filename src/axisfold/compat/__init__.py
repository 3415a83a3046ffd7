# SPDX-License-Identifier: Apache-2.0
"""Old spellings: packages under which scripts for other libraries find what axisfold has."""
