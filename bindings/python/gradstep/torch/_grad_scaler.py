# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What a rank tells its GradScaler of the gradients of others."""

import sys

import torch


def note_infinity(found: bool) -> None:
    """Lets the GradScaler that is making this step know whether any rank has found an infinity.

    A GradScaler backs off where its own rank has found one; the scales of ranks would come apart, and so would the
    lengths of their gradients. It hands an optimizer the sum of its findings, but neither them nor itself. So they are
    looked up where it runs. Where it is not found (another kind of scaler), ranks that come apart get an error from the
    next step.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not torch.amp.GradScaler.step.__code__:
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return
    findings = frame.f_locals["optimizer_state"]["found_inf_per_device"]
    if not findings:  # this rank has no gradient
        findings[torch.device("cpu")] = torch.zeros((), dtype=torch.float32)
    if found:
        for finding in findings.values():
            finding.fill_(1.0)
