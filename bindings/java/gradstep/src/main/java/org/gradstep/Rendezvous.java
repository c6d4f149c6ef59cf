// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.nio.file.Path;
import java.time.Duration;

/** Where the ranks of a communicator meet. */
public final class Rendezvous {
  final byte[] id;
  final String folder;
  final Store store;

  private Rendezvous(byte[] id, String folder, Store store) {
    this.id = id;
    this.folder = folder;
    this.store = store;
  }

  /** A key-value store that all ranks reach. Used while a communicator is made, on the thread that makes it. */
  public interface Store {
    /**
     * Stores a value, in place of an earlier one.
     *
     * @param key its name
     * @param value bytes
     * @throws Exception if it cannot be done
     */
    void set(String key, byte[] value) throws Exception;

    /**
     * Waits for a value.
     *
     * @param key its name
     * @param timeout how long
     * @return the bytes
     * @throws Exception if it does not come: a {@link java.util.concurrent.TimeoutException}
     */
    byte[] get(String key, Duration timeout) throws Exception;
  }

  /**
   * A folder that all ranks share; it is made if it is not there.
   *
   * @param folder its path
   * @return the place
   */
  public static Rendezvous folder(Path folder) {
    return new Rendezvous(null, Handle.present(folder, "folder").toString(), null);
  }

  /**
   * What {@link Communicator#uniqueId} gave one rank, and the host carried to all.
   *
   * @param id its bytes
   * @return the place
   */
  public static Rendezvous id(byte[] id) {
    return new Rendezvous(Handle.present(id, "id").clone(), null, null);
  }

  /**
   * A store of the host's own.
   *
   * @param store that all ranks reach
   * @return the place
   */
  public static Rendezvous store(Store store) {
    return new Rendezvous(null, null, Handle.present(store, "store"));
  }

  /**
   * For engines that need none: "self" and "mpi".
   *
   * @return no place
   */
  public static Rendezvous none() {
    return new Rendezvous(null, null, null);
  }
}
