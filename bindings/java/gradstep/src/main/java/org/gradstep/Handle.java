// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.ref.Cleaner;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import java.util.function.LongUnaryOperator;

/**
 * A C object. close() gives it up at once; calls of other threads that are inside finish first, and later ones are an
 * IllegalStateException. A handle that is not closed is closed when it is no longer reachable.
 */
abstract class Handle implements AutoCloseable {
  static final Cleaner CLEANER = Cleaner.create();

  final Resource resource;

  Handle(String name, long address, LongConsumer destroy) {
    resource = new Resource(name, address, destroy);
    CLEANER.register(this, resource::close);
  }

  /** Gives the object up; calls that are inside finish first. A second time does nothing. */
  @Override
  public final void close() {
    resource.close();
  }

  /** Makes a call, which close() waits for. */
  final long call(LongUnaryOperator function) {
    long address = resource.enter();
    try {
      return function.applyAsLong(address);
    } finally {
      resource.leave();
    }
  }

  /** As above, for a function with another result. */
  final <T> T ask(LongFunction<T> function) {
    long address = resource.enter();
    try {
      return function.apply(address);
    } finally {
      resource.leave();
    }
  }

  /**
   * What it is.
   *
   * @return the kind, and whether it is closed
   */
  @Override
  public String toString() {
    return resource.toString();
  }

  /** An argument that must not be null. */
  static <T> T present(T value, String argument) {
    if (value == null) {
      throw new IllegalArgumentException(argument + ": is null");
    }
    return value;
  }

  /** null for a handle that is absent. */
  static Resource resourceOf(Handle handle) {
    return handle == null ? null : handle.resource;
  }

  /** The resource of an argument that must not be null. */
  static Resource resourceOf(Handle handle, String argument) {
    return present(handle, argument).resource;
  }

  static long addressOf(Handle handle) {
    return handle == null ? 0 : handle.resource.address;
  }

  /**
   * The address and how many use it: calls that are inside, and views of what it owns. They hold this object alone, so
   * the collector may take the handle meanwhile.
   */
  static final class Resource {
    private static final int CLOSED = 1 << 31;
    private static final int CHANGING = 1 << 30;
    private static final VarHandle USERS;

    static {
      try {
        USERS = MethodHandles.lookup().findVarHandle(Resource.class, "users", int.class);
      } catch (ReflectiveOperationException error) {
        throw new ExceptionInInitializerError(error);
      }
    }

    private final String name;
    private final LongConsumer destroy;
    final long address;
    private volatile int users;
    /** What the C object has borrowed, for as long as it is used. */
    Object borrowed;

    Resource(String name, long address, LongConsumer destroy) {
      this.name = name;
      this.address = address;
      this.destroy = destroy;
    }

    @Override
    public String toString() {
      return users < 0 ? name + ", closed" : name;
    }

    long enter() {
      while (true) {
        int seen = users;
        refuse(seen, CLOSED | CHANGING);
        if (USERS.compareAndSet(this, seen, seen + 1)) {
          return address;
        }
      }
    }

    /** One more user beside one that is inside, whether or not the handle has been closed since. */
    void retain() {
      USERS.getAndAdd(this, 1);
    }

    void leave() {
      if ((int) USERS.getAndAdd(this, -1) - 1 == CLOSED) {
        destroy.accept(address);
      }
    }

    /** As enter(), for who must be alone. */
    long enterAlone() {
      while (true) {
        int seen = users;
        refuse(seen, -1);
        if (USERS.compareAndSet(this, 0, CHANGING)) {
          return address;
        }
      }
    }

    void leaveAlone() {
      if ((int) USERS.getAndAdd(this, -CHANGING) - CHANGING == CLOSED) {
        destroy.accept(address);
      }
    }

    private void refuse(int seen, int mask) {
      if (seen < 0) {
        throw new IllegalStateException(name + ": is closed");
      }
      if ((seen & mask) != 0) {
        throw new IllegalStateException(name + ": is in use by another call or a view");
      }
    }

    void close() {
      int seen = (int) USERS.getAndBitwiseOr(this, CLOSED);
      if (seen == 0) {
        destroy.accept(address);
      }
    }
  }

  /** Enters up to four resources, of which some may be null; all or none. */
  static void enter(Resource first, Resource second, Resource third, Resource fourth) {
    int entered = 0;
    try {
      first.enter();
      entered = 1;
      if (second != null) {
        second.enter();
      }
      entered = 2;
      if (third != null) {
        third.enter();
      }
      entered = 3;
      if (fourth != null) {
        fourth.enter();
      }
      entered = 4;
    } finally {
      if (entered < 4) {
        leave(entered > 0 ? first : null, entered > 1 ? second : null, entered > 2 ? third : null, null);
      }
    }
  }

  static void leave(Resource first, Resource second, Resource third, Resource fourth) {
    if (first != null) {
      first.leave();
    }
    if (second != null) {
      second.leave();
    }
    if (third != null) {
      third.leave();
    }
    if (fourth != null) {
      fourth.leave();
    }
  }
}
