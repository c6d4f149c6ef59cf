// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/plugin_loader.h"

#include "unit/scoped_environment.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(PluginLoader, AMissingFileIsToldInTheLoadersWords) {
  expect_error(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "cannot open shared object file",
               [] { load_plugin("/nowhere/libgradstep_nothing.so"); });
}

TEST(PluginLoader, ALibraryThatIsNoPluginIsRefused) {
  expect_error(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "not a gradstep plugin", [] { load_plugin("libm.so.6"); });
}

TEST(PluginLoader, TheEnvironmentsDirectoryComesBeforeTheLibrarysOwn) {
  const ScopedEnvironment environment("GRADSTEP_PLUGIN_DIR", "/nowhere/else");
  expect_error(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "/nowhere/else/libgradstep_nothing.so",
               [] { find_plugin("nothing"); });
}

}  // namespace
}  // namespace gradstep::test
