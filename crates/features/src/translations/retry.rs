//! Computes the pause before a failed translation is tried again. This file is pure.

use std::time::Duration;

/// Maximum pause after the first failure. The maximum doubles with each additional failure.
const FIRST_MAX: Duration = Duration::from_secs(1);
/// Maximum pause after any failure.
pub(super) const MAX_RETRY_PAUSE: Duration = Duration::from_secs(600);
/// Minimum pause between two attempts.
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// Returns the pause after this many failures in a row. Its maximum is 1 s after the first failure,
/// and doubles with each additional failure up to 10 min. `fraction` is the random jitter, from 0
/// to 1. The jitter applies to the whole pause, so that jobs that failed together are not retried
/// together.
pub(super) fn pause(failures: u32, fraction: f64) -> Duration {
    let doublings = failures.saturating_sub(1);
    let longest = FIRST_MAX
        .saturating_mul(2_u32.saturating_pow(doublings))
        .min(MAX_RETRY_PAUSE);
    Duration::try_from_secs_f64(longest.as_secs_f64() * fraction)
        .unwrap_or(longest)
        .clamp(MIN_PAUSE, longest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn retry_pauses_double_up_to_ten_minutes() {
        let longest: Vec<_> = (1..=12)
            .map(|failures| pause(failures, 1.0).as_secs())
            .collect();
        assert_eq!(longest, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
        assert_eq!(pause(u32::MAX, 1.0), MAX_RETRY_PAUSE);
        assert_eq!(pause(2, 0.5), Duration::from_secs(1));
    }

    proptest! {
        #[test]
        fn a_retry_pause_is_positive_and_bounded(
            failures in 0_u32..100,
            fraction in 0.0_f64..=1.0,
        ) {
            let pause = pause(failures, fraction);
            prop_assert!(pause >= MIN_PAUSE);
            prop_assert!(
                pause.as_secs_f64()
                    <= 2_f64
                        .powi(i32::try_from(failures.saturating_sub(1)).unwrap())
                        .min(600.0)
            );
        }
    }
}
