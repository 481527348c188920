//! Pseudo-random numbers for tests that try many cases.

/// A pseudo-random generator. The same seed gives the same numbers, so a test that failed can be
/// repeated with its seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    pub fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        items[usize::try_from(self.roll(items.len() as u64)).unwrap()].clone()
    }
}
