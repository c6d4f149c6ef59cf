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

#if defined(SWIGJAVA)
// What else a function gives, by the one argument that it writes to, is its result: java.i.
%typemap(jni) gradstep_status "jlong"
%typemap(jtype) gradstep_status "long"
%typemap(jstype) gradstep_status "long"
%typemap(javain) gradstep_status "$javainput"
%typemap(in) gradstep_status "$1 = static_cast<gradstep_status>($input);"
%typemap(javaout) gradstep_status { return $jnicall; }
%typemap(out) gradstep_status {
  if ($1 != GRADSTEP_OK) {
    gradstep_java::raise(jenv, $1);
    return 0;
  }
  $result = 0;
}
#endif
