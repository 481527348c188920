//! The rules that decide when a session expires and which members can be signed in (rules:
//! members#sessions).

use engine::access::{Member, Settings};
use jiff::{SignedDuration, Timestamp};

/// Maximum lifetime of a session.
pub(super) const MAX_SESSION_LIFETIME: SignedDuration = SignedDuration::from_hours(12);
/// Time after which a session expires if it is not used.
pub(super) const MAX_SESSION_IDLE: SignedDuration = SignedDuration::from_hours(2);
/// Minimum time between two recorded uses of a session.
const MIN_USE_INTERVAL: SignedDuration = SignedDuration::from_mins(1);

/// The reason why a member cannot be signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInRestriction {
    /// The member is not active.
    Inactive,
    /// The organization requires two-factor authentication, and the member has not enrolled.
    TwoFactor,
}

impl SignInRestriction {
    /// Returns the restriction as a text for the log.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Inactive => "the member is not active",
            Self::TwoFactor => "the member has not enrolled in two-factor authentication",
        }
    }
}

/// Returns the reason why a member cannot be signed in at the moment; `None` if the member can be
/// signed in.
pub(super) fn sign_in_restriction(
    member: &Member,
    settings: &Settings,
) -> Option<SignInRestriction> {
    if !member.is_active {
        return Some(SignInRestriction::Inactive);
    }
    (settings.is_two_factor_required && !member.is_two_factor_enrolled)
        .then_some(SignInRestriction::TwoFactor)
}

/// Returns the time at which a session expires if it is not used again.
pub(super) fn session_end(created_at: Timestamp, used_at: Timestamp) -> Timestamp {
    let after = |start: Timestamp, time| start.checked_add(time).unwrap_or(Timestamp::MAX);
    after(created_at, MAX_SESSION_LIFETIME).min(after(used_at, MAX_SESSION_IDLE))
}

/// Returns whether a use of a session must be recorded, because the last recorded use is at least a
/// minute old.
pub(super) fn must_record_use(used_at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(used_at) >= MIN_USE_INTERVAL
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn inactive_members_and_members_without_2fa_are_barred() {
        for (is_active, is_enrolled, is_required, expected) in [
            (true, true, true, None),
            (true, false, false, None),
            (true, true, false, None),
            (true, false, true, Some(SignInRestriction::TwoFactor)),
            (false, true, false, Some(SignInRestriction::Inactive)),
            (false, false, true, Some(SignInRestriction::Inactive)),
        ] {
            let member = Member {
                is_active,
                is_two_factor_enrolled: is_enrolled,
                ..Member::default()
            };
            let settings = Settings {
                is_two_factor_required: is_required,
                ..Settings::default()
            };
            assert_eq!(sign_in_restriction(&member, &settings), expected);
        }
    }

    #[test]
    fn use_extends_a_session_up_to_its_limit() {
        assert_eq!(session_end(at(0), at(0)), at(2 * 3_600));
        assert_eq!(session_end(at(0), at(3_600)), at(3 * 3_600));
        assert_eq!(session_end(at(0), at(11 * 3_600)), at(12 * 3_600));
        assert!(!must_record_use(at(0), at(59)) && must_record_use(at(0), at(60)));
    }

    proptest! {
        /// Checks both limits of a session for arbitrary times, including times that would
        /// overflow.
        #[test]
        fn no_session_outlasts_its_limits(created: i32, used: i32) {
            let (created, used) = (at(created.into()), at(used.into()));
            let end = session_end(created, used);
            prop_assert!(
                end.duration_since(created) <= MAX_SESSION_LIFETIME
                    && end.duration_since(used) <= MAX_SESSION_IDLE
            );
        }
    }
}
