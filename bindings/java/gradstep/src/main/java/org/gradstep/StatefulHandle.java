// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.util.function.LongConsumer;

/**
 * A handle whose state can be saved, in the format of docs/saved_state.md, and loaded. A failing save or load changes
 * nothing in the handle. What is saved collectively (a sharded optimizer, an updater over several ranks) is written by
 * rank 0, and the others pass null; every rank loads the whole. Streams, channels and files stay open.
 */
public abstract class StatefulHandle extends Handle {
  interface Save<T> {
    long call(long handle, T target);
  }

  interface Load<T> {
    long call(long handle, T source, LoadOptionsStruct options);
  }

  record Functions(Save<Object> save, Save<String> saveFile, Load<Object> load, Load<String> loadFile) {}

  private final Functions functions;

  StatefulHandle(String name, long address, LongConsumer destroy, Functions functions) {
    super(name, address, destroy);
    this.functions = functions;
  }

  private void saveTo(Object target) {
    call(address -> functions.save.call(address, target));
  }

  private void loadFrom(Object source, LoadOptions options) {
    call(address -> functions.load.call(address, source, LoadOptions.struct(options)));
  }

  /**
   * Saves to a stream.
   *
   * @param stream gets all bytes
   */
  public void save(OutputStream stream) {
    saveTo(stream);
  }

  /**
   * Saves to a channel, without a copy.
   *
   * @param channel blocking; gets all bytes
   */
  public void save(WritableByteChannel channel) {
    saveTo(channel);
  }

  /**
   * Saves to a buffer. Where it is too small its position stays, and the cause of the exception is a
   * {@link java.nio.BufferOverflowException}.
   *
   * @param buffer of any kind, filled from its position on
   */
  public void save(ByteBuffer buffer) {
    int position = buffer == null ? 0 : buffer.position();
    try {
      saveTo(buffer);
    } catch (RuntimeException error) {
      if (buffer != null) {
        buffer.position(position);
      }
      throw error;
    }
  }

  /**
   * Saves to a file, which is the old one or the new one whatever happens.
   *
   * @param path of the file
   */
  public void save(Path path) {
    call(address -> functions.saveFile.call(address, path == null ? null : path.toString()));
  }

  /**
   * Takes over what was saved.
   *
   * @param stream read to its end
   */
  public void load(InputStream stream) {
    load(stream, null);
  }

  /**
   * Takes over what was saved.
   *
   * @param stream read to its end
   * @param options null = defaults
   */
  public void load(InputStream stream, LoadOptions options) {
    loadFrom(stream, options);
  }

  /**
   * Takes over what was saved.
   *
   * @param channel blocking; read to its end
   * @param options null = defaults
   */
  public void load(ReadableByteChannel channel, LoadOptions options) {
    loadFrom(channel, options);
  }

  /**
   * Takes over what was saved.
   *
   * @param buffer read from its position, which stays, to its limit
   * @param options null = defaults
   */
  public void load(ByteBuffer buffer, LoadOptions options) {
    loadFrom(buffer == null ? null : buffer.duplicate(), options);
  }

  /**
   * Takes over what was saved.
   *
   * @param path of a file
   */
  public void load(Path path) {
    load(path, null);
  }

  /**
   * Takes over what was saved.
   *
   * @param path of a file
   * @param options null = defaults
   */
  public void load(Path path, LoadOptions options) {
    call(address -> functions.loadFile.call(address, path == null ? null : path.toString(),
        LoadOptions.struct(options)));
  }
}
