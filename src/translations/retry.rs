//! When a text that could not be translated is tried again: pure.

use std::time::Duration;

/// The longest pause after a first failure; it doubles from there.
const FIRST: Duration = Duration::from_secs(1);
/// The longest pause after any.
const LONGEST: Duration = Duration::from_secs(600);
/// Two attempts are never at the same moment.
const LEAST: Duration = Duration::from_millis(1);

/// The pause after so many failures in a row: anything up to 1 s, doubled for each failure before the last, 10 min at the
/// most. `fraction` is the jitter, from 0 to 1: full, so that what failed together does not come back together.
pub(super) fn pause(failures: u32, fraction: f64) -> Duration {
    let doublings = failures.saturating_sub(1);
    let longest = FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST);
    Duration::try_from_secs_f64(longest.as_secs_f64() * fraction).unwrap_or(longest).clamp(LEAST, longest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pauses_double_up_to_ten_minutes() {
        let longest: Vec<_> = (1..=12).map(|failures| pause(failures, 1.0).as_secs()).collect();
        assert_eq!(longest, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
        assert_eq!(pause(u32::MAX, 1.0), LONGEST);
        assert_eq!(pause(2, 0.5), Duration::from_secs(1));
    }

    proptest! {
        #[test]
        fn a_pause_is_positive_and_within_its_bound(failures in 0_u32..100, fraction in 0.0_f64..=1.0) {
            let pause = pause(failures, fraction);
            prop_assert!(pause >= LEAST);
            prop_assert!(pause.as_secs_f64() <= 2_f64.powi(i32::try_from(failures.saturating_sub(1)).unwrap()).min(600.0));
        }
    }
}
