/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A process inherits ignored and blocked signals from its parent: a shell in the background, nohup, a service
 * manager. Tests wait for children, end ranks that hang by an alarm, and check what a broken connection does to a host
 * that does not ignore SIGPIPE; so every test program begins with the defaults of these.
 */
#include <signal.h>
#include <stddef.h>

__attribute__((constructor)) static void set_known_signals(void) {
  static const int kSignals[] = {SIGALRM, SIGCHLD, SIGPIPE};
  sigset_t unblocked;
  size_t i;
  sigemptyset(&unblocked);
  for (i = 0; i < sizeof kSignals / sizeof kSignals[0]; ++i) {
    signal(kSignals[i], SIG_DFL);
    sigaddset(&unblocked, kSignals[i]);
  }
  sigprocmask(SIG_UNBLOCK, &unblocked, NULL);
}
