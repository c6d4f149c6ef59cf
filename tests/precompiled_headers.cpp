// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The program that the tests' precompiled headers belong to (CMakeLists.txt).
int main() { return 0; }
