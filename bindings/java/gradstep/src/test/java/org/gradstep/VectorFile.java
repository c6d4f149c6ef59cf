// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** A file of tests/conformance/vectors: what another system has computed. */
final class VectorFile {
  final JsonObject meta;
  private final Map<String, Tensor> arrays = new HashMap<>();

  private VectorFile(ByteBuffer file) {
    int headerBytes = Math.toIntExact(file.getLong());
    String text = StandardCharsets.UTF_8.decode(file.slice(8, headerBytes)).toString();
    JsonObject header = JsonParser.parseString(text).getAsJsonObject();
    JsonObject metadata = header.remove("__metadata__").getAsJsonObject();
    meta = JsonParser.parseString(metadata.get("meta").getAsString()).getAsJsonObject();
    for (String name : header.keySet()) {
      JsonObject array = header.getAsJsonObject(name);
      int begin = 8 + headerBytes + array.getAsJsonArray("data_offsets").get(0).getAsInt();
      int end = 8 + headerBytes + array.getAsJsonArray("data_offsets").get(1).getAsInt();
      ByteBuffer data = Memory.bytes(end - begin).put(file.slice(begin, end - begin)).flip();
      long[] shape = array.getAsJsonArray("shape").asList().stream().mapToLong(extent -> extent.getAsLong()).toArray();
      arrays.put(name, Tensor.of(data, array.get("dtype").getAsString().equals("I64") ? DType.I64 : DType.F32, shape));
    }
  }

  static VectorFile read(String name) throws IOException {
    Path folder = Path.of(System.getProperty("gradstep.vectors"));
    return new VectorFile(
        ByteBuffer.wrap(Files.readAllBytes(folder.resolve(name + ".safetensors"))).order(ByteOrder.LITTLE_ENDIAN));
  }

  boolean has(String name) {
    return arrays.containsKey(name);
  }

  Tensor get(String name) {
    if (!has(name)) {
      throw new IllegalArgumentException("the file has no " + name);
    }
    return arrays.get(name);
  }

  int parameters() {
    return meta.getAsJsonArray("shapes").size();
  }

  double tolerance() {
    return meta.get("relative_tolerance").getAsDouble();
  }

  /** prefix0, prefix1, ... */
  Tensor[] all(String prefix) {
    Tensor[] tensors = new Tensor[parameters()];
    for (int i = 0; i < tensors.length; i++) {
      tensors[i] = get(prefix + i);
    }
    return tensors;
  }

  /** The largest difference, divided by the largest magnitude that is expected. */
  static double relativeError(FloatBuffer found, FloatBuffer expected) {
    double largest = 0;
    double difference = 0;
    for (int i = 0; i < expected.remaining(); i++) {
      largest = Math.max(largest, Math.abs(expected.get(i)));
      difference = Math.max(difference, Math.abs((double) found.get(i) - expected.get(i)));
    }
    return largest > 0 ? difference / largest : difference;
  }
}
