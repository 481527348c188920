//! Whether a session goes on, and whether a member may be signed in: as both are at the moment (contract: People: signing in).

use engine::access::{Member, Settings};
use jiff::{SignedDuration, Timestamp};

/// How long a session lasts at the most.
pub(super) const LONGEST: SignedDuration = SignedDuration::from_hours(12);
/// How long it lasts without use.
pub(super) const IDLE: SignedDuration = SignedDuration::from_hours(2);
/// How much later a session has to be used again for that to be noted.
const NOTED_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// Why a member may not be signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barred {
    /// They are not active.
    Inactive,
    /// Their organization asks for two-factor authentication, and they have not enrolled.
    TwoFactor,
}

impl Barred {
    /// As the log has it.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Inactive => "the member is not active",
            Self::TwoFactor => "the member has not enrolled in two-factor authentication",
        }
    }
}

/// Why a member may not be signed in as they and their organization are, if they may not.
pub(super) fn barred(member: &Member, settings: &Settings) -> Option<Barred> {
    if !member.is_active {
        return Some(Barred::Inactive);
    }
    (settings.is_two_factor_required && !member.is_two_factor_enrolled).then_some(Barred::TwoFactor)
}

/// When a session ends by itself, unless it is used again.
pub(super) fn end(created_at: Timestamp, used_at: Timestamp) -> Timestamp {
    let after = |moment: Timestamp, time| moment.checked_add(time).unwrap_or(Timestamp::MAX);
    after(created_at, LONGEST).min(after(used_at, IDLE))
}

/// Whether it is to be noted that a session is used.
pub(super) fn is_to_be_noted(used_at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(used_at) >= NOTED_EVERY
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn who_is_not_active_or_lacks_the_second_factor_stays_out() {
        for (is_active, is_enrolled, is_required, expected) in [
            (true, true, true, None),
            (true, false, false, None),
            (true, true, false, None),
            (true, false, true, Some(Barred::TwoFactor)),
            (false, true, false, Some(Barred::Inactive)),
            (false, false, true, Some(Barred::Inactive)),
        ] {
            let member = Member { is_active, is_two_factor_enrolled: is_enrolled, ..Member::default() };
            let settings = Settings { is_two_factor_required: is_required, ..Settings::default() };
            assert_eq!(barred(&member, &settings), expected);
        }
    }

    #[test]
    fn use_prolongs_a_session_up_to_its_end() {
        assert_eq!(end(at(0), at(0)), at(2 * 3_600));
        assert_eq!(end(at(0), at(3_600)), at(3 * 3_600));
        assert_eq!(end(at(0), at(11 * 3_600)), at(12 * 3_600));
        assert!(!is_to_be_noted(at(0), at(59)) && is_to_be_noted(at(0), at(60)));
    }

    proptest! {
        /// Whatever the moments: it never outlasts either limit, and nothing overflows.
        #[test]
        fn no_session_outlasts_its_limits(created: i32, used: i32) {
            let (created, used) = (at(created.into()), at(used.into()));
            let end = end(created, used);
            prop_assert!(end.duration_since(created) <= LONGEST && end.duration_since(used) <= IDLE);
        }
    }
}
