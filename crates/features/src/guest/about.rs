//! The subject of a manual, derived from its icon, and whether a guest still sees the manual after
//! the stay.

use super::manuals::ManualView;
use super::phase::Phase;
use crate::manuals::VisibilityRule;

/// The subject of a manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManualSubject {
    /// How guests get into the flat.
    Door,
    /// How guests join the flat's Wi-Fi network.
    Wifi,
    /// The tasks of the guest before leaving the flat.
    Leaving,
    /// Any other subject.
    Else,
}

impl ManualSubject {
    /// Returns the subject of a manual. A manual that shows the flat's network is about the
    /// network. For any other manual, the icon decides.
    #[must_use]
    pub fn of(manual: &ManualView) -> Self {
        if manual.wifi.is_some() {
            Self::Wifi
        } else {
            Self::of_icon(manual.icon_name.as_deref())
        }
    }

    /// Returns the subject that the name of a Lucide icon stands for.
    #[must_use]
    pub fn of_icon(name: Option<&str>) -> Self {
        let name = name.unwrap_or_default();
        let is_one_of = |names: &[&str]| {
            names.iter().any(|icon_prefix| {
                name == *icon_prefix
                    || name
                        .strip_prefix(icon_prefix)
                        .is_some_and(|rest| rest.starts_with('-'))
            })
        };
        if is_one_of(&["wifi"]) {
            Self::Wifi
        } else if is_one_of(&[
            "log-out",
            "luggage",
            "calendar-x",
            "door-open",
            "plane-takeoff",
        ]) {
            Self::Leaving
        } else if is_one_of(&["key", "lock", "door"]) {
            Self::Door
        } else {
            Self::Else
        }
    }
}

/// Returns whether a manual is hidden because the stay is over. This is the case for a manual about
/// the door or the network, unless a `relative_date` rule sets the end of its visibility.
pub(super) fn is_over(icon_name: Option<&str>, rules: &[VisibilityRule], phase: Phase) -> bool {
    let is_secret = matches!(
        ManualSubject::of_icon(icon_name),
        ManualSubject::Door | ManualSubject::Wifi
    );
    let has_end = rules.iter().any(|rule| {
        matches!(
            rule,
            VisibilityRule::RelativeDate(rule) if rule.end_date_relative_type.is_some()
        )
    });
    phase == Phase::After && is_secret && !has_end
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(more: serde_json::Value) -> VisibilityRule {
        let mut rule = json!({ "ruleCategory": "relative_date" });
        rule.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        serde_json::from_value(rule).unwrap()
    }

    #[test]
    fn the_door_and_the_network_are_hidden_once_the_stay_is_over() {
        for icon in ["wifi", "wifi-high", "key-round", "lock", "door-closed"] {
            assert!(is_over(Some(icon), &[], Phase::After), "{icon}");
            assert!(!is_over(Some(icon), &[], Phase::DepartureDay), "{icon}");
        }
        for icon in [None, Some("door-open"), Some("utensils")] {
            assert!(!is_over(icon, &[], Phase::After), "{icon:?}");
        }
    }

    #[test]
    fn a_rule_with_an_end_decides_by_itself() {
        let open = rule(json!({ "startDateRelativeType": "check_in_time" }));
        let closed = rule(json!({ "endDateRelativeType": "after_check_out", "daysAfter": 3 }));
        assert!(is_over(Some("wifi"), &[open], Phase::After));
        assert!(!is_over(Some("wifi"), &[closed], Phase::After));
    }
}
