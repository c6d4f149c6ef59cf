// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/generate from include/c_api/gradstep.
package org.gradstep;

/** Options of {@link StatefulHandle#load(java.nio.file.Path, LoadOptions)}. Immutable. */
public final class LoadOptions extends StructOptions<LoadOptionsStruct> {
  private LoadOptions(Settings<LoadOptionsStruct> given) {
    super(given, LoadOptionsStruct::new);
  }

  /**
   * Begins with the defaults.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Collects options; what is not given has the library's default. */
  public static final class Builder {
    private final Settings<LoadOptionsStruct> settings = new Settings<>();

    private Builder() {}

    /**
     * The options as they are now.
     *
     * @return immutable
     */
    public LoadOptions build() {
      return new LoadOptions(settings);
    }

    /**
     * A file without "gradstep.checksum" is taken (made or edited by another program).
     *
     * @param allowUnchecked the new one
     * @return this
     */
    public Builder allowUnchecked(boolean allowUnchecked) {
      settings.put("allowUnchecked", allowUnchecked, struct -> struct.setAllowUnchecked(allowUnchecked ? 1 : 0));
      return this;
    }
  }
}
