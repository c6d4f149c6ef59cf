// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A status is no result but an exception: the language's class for it, with gradstep_last_error() as text. Raised in the
// wrapper itself, on the thread of the call, before anything else can touch that text.
#if defined(SWIGPYTHON)
%typemap(out) gradstep_status {
  if (!gradstep_python::check_status($1)) SWIG_fail;
  $result = SWIG_Py_Void();
}

// Every call gives the interpreter lock away: any of them may run a callback or wait for another thread.
%exception {
  const gradstep_python::GilRelease released;
  $action
}
#endif
