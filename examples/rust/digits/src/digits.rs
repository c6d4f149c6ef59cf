// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Handwritten digits of 8 x 8 pixels, as the file of scikit-learn (and of the UCI repository) has them.

use std::path::Path;

use crate::Result;

/// Pixels of an image.
pub const PIXELS: usize = 64;
/// Digits there are.
pub const CLASSES: usize = 10;

/// Images and what they show.
#[derive(Clone, Default)]
pub struct Examples {
    /// `PIXELS` numbers from 0 to 1 for each image.
    pub pixels: Vec<f32>,
    /// 0 to 9 for each image.
    pub labels: Vec<u32>,
}

impl Examples {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    fn push(&mut self, pixels: &[f32], label: u32) {
        self.pixels.extend_from_slice(pixels);
        self.labels.push(label);
    }

    /// The examples with these indices.
    pub fn select(&self, indices: impl Iterator<Item = usize>) -> Self {
        let mut selected = Self::default();
        for i in indices {
            selected.push(&self.pixels[i * PIXELS..(i + 1) * PIXELS], self.labels[i]);
        }
        selected
    }
}

/// What to train on, and what to test with: every fifth image.
pub struct Digits {
    /// Four fifths.
    pub train: Examples,
    /// One fifth.
    pub test: Examples,
}

impl Digits {
    /// Reads lines of 64 numbers from 0 to 16 and a label.
    ///
    /// # Errors
    /// The file's, or the line that is something else.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let (mut train, mut test) = (Examples::default(), Examples::default());
        for (i, line) in text.lines().enumerate() {
            let numbers = line.split(',').map(|number| number.trim().parse::<f32>()).collect::<Result<Vec<_>, _>>();
            let numbers = numbers.map_err(|error| format!("{}:{}: {error}", path.display(), i + 1))?;
            let [pixels @ .., label] = &numbers[..] else { continue };
            if pixels.len() != PIXELS {
                return Err(format!("{}:{}: {} pixels, expected {PIXELS}", path.display(), i + 1, pixels.len()).into());
            }
            let pixels: Vec<_> = pixels.iter().map(|pixel| pixel / 16.0).collect();
            if i % 5 == 4 { &mut test } else { &mut train }.push(&pixels, *label as u32);
        }
        Ok(Self { train, test })
    }
}
