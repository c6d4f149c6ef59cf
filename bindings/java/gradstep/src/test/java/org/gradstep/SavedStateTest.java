// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
package org.gradstep;

import static org.gradstep.Memory.floats;
import static org.gradstep.Memory.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SavedStateTest {
  private static final List<Parameter> MODEL = List.of(Parameter.of("line", DType.F32, 3));

  private static Optimizer adam(Context context) {
    return Optimizer.create(context, AdamOptions.builder(0.5).build(), MODEL);
  }

  private static void step(Optimizer optimizer) {
    try (TensorList params = TensorList.of(floats(3)); TensorList grads = TensorList.of(floats(1, 2, 3))) {
      optimizer.step(params, grads);
    }
  }

  private static float[] moments(Optimizer optimizer) {
    try (TensorList state = optimizer.state(0, "exp_avg")) {
      return values(state, 0);
    }
  }

  @Test
  void filesChannelsAndBuffersHaveTheSameBytes(@TempDir Path folder) throws Exception {
    try (Context context = new Context(1); Optimizer saved = adam(context)) {
      step(saved);
      ByteArrayOutputStream stream = new ByteArrayOutputStream();
      saved.save(stream);
      // docs:begin files
      Path file = folder.resolve("adam.safetensors");
      saved.save(file); // the old file or the new one, whatever happens
      try (Optimizer loaded = adam(context)) {
        loaded.load(file);
        assertEquals(1, loaded.stepCount());
      }
      // docs:end files
      assertArrayEquals(stream.toByteArray(), Files.readAllBytes(file));
      ByteBuffer buffer = ByteBuffer.allocate(stream.size() + 5).position(5);
      saved.save(buffer);
      assertEquals(0, buffer.remaining());
      Path other = folder.resolve("channel");
      try (FileChannel channel =
          FileChannel.open(other, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.READ)) {
        saved.save(channel);
        try (Optimizer loaded = adam(context)) {
          loaded.load(channel.position(0), null);
          assertArrayEquals(moments(saved), moments(loaded));
        }
      }
      assertArrayEquals(stream.toByteArray(), Files.readAllBytes(other));
      try (Optimizer loaded = adam(context)) {
        buffer.position(5);
        loaded.load(buffer, null);
        assertEquals(5, buffer.position());
        assertArrayEquals(moments(saved), moments(loaded));
        ByteBuffer small = ByteBuffer.allocateDirect(100).position(1);
        GradstepException error = assertThrows(GradstepException.class, () -> saved.save(small));
        assertInstanceOf(BufferOverflowException.class, error.getCause());
        assertEquals(1, small.position());
      }
    }
  }

  @Test
  void everyKindOfHandleComesBack(@TempDir Path folder) {
    try (Context context = new Context(1)) {
      Communicator alone = Communicator.local(context, 1).get(0);
      try (Accumulator accumulator = new Accumulator(context, null, MODEL);
          Optimizer optimizer = adam(context);
          TensorList params = TensorList.of(floats(3));
          TensorList grads = TensorList.of(floats(1, 2, 3))) {
        ReducerOptions options = ReducerOptions.builder()
            .mode(ReducerMode.SPARSE_TOPK)
            .sparsity(0.5)
            .build();
        try (Reducer reducer = new Reducer(context, alone, options, MODEL);
            Updater updater = Updater.builder(context, optimizer).accumulator(accumulator).reducer(reducer).build()) {
          updater.push(params, grads);
          reducer.save(folder.resolve("reducer"));
          accumulator.save(folder.resolve("accumulator"));
          updater.save(folder.resolve("updater"));
          try (TensorList residual = reducer.residual(0)) {
            assertArrayEquals(new float[] {1, 0, 0}, values(residual, 0)); // two of three were sent
            residual.get(0).floats().put(0, 9);
            reducer.load(folder.resolve("reducer"));
            assertArrayEquals(new float[] {1, 0, 0}, values(residual, 0));
          }
          accumulator.load(folder.resolve("accumulator"));
          try (TensorList result = accumulator.gradients()) {
            assertArrayEquals(new float[] {1, 2, 3}, values(result, 0));
          }
          updater.push(params, grads);
          assertEquals(2, optimizer.stepCount());
          updater.load(folder.resolve("updater"));
          assertEquals(1, optimizer.stepCount());
          GradstepException other =
              assertThrows(GradstepException.class, () -> updater.load(folder.resolve("reducer")));
          assertEquals("GRADSTEP_ERR_MISMATCH", other.statusName());
        }
      }
      alone.close();
    }
  }

  @Test
  void aFileWithoutAChecksumIsLoadedOnlyWhereThatIsAllowed(@TempDir Path folder) throws Exception {
    try (Context context = new Context(1); Optimizer saved = adam(context); Optimizer loaded = adam(context)) {
      step(saved);
      Path file = folder.resolve("state");
      saved.save(file);
      byte[] bytes = Files.readAllBytes(file);
      byte[] unchecked = new String(bytes, java.nio.charset.StandardCharsets.ISO_8859_1)
          .replace("gradstep.checksum", "gradstep.unknown__").getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
      assertThrows(GradstepException.class, () -> loaded.load(new ByteArrayInputStream(unchecked)));
      assertEquals(0, loaded.stepCount());
      String text = assertThrows(GradstepException.class, () -> loaded.load(folder.resolve("none"))).getMessage();
      assertTrue(text.contains("none"), text);
      assertThrows(IllegalArgumentException.class, () -> saved.save((Path) null));
      assertThrows(IllegalArgumentException.class, () -> saved.save((ByteBuffer) null));
    }
  }
}
