# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""One module for each file that scripts/generate writes: OUTPUT is its path, generated() its text."""
