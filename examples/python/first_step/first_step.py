# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""One step of Adam on four numbers of the host's."""

# docs:begin step
import numpy as np

import gradstep

weight = np.array([1, 2, 3, 4], np.float32)
adam = gradstep.Adam([weight], learning_rate=0.25)
adam.step([weight], [np.array([0.5, -0.5, 1, -1], np.float32)])
print(weight)  # [0.75 2.25 2.75 4.25]
# docs:end step

if not np.allclose(weight, [0.75, 2.25, 2.75, 4.25], atol=1e-5):  # Adam's first step: its rate, by the signs
    raise SystemExit("that was no step of Adam")
