//! The search for the existing name that a misspelt name most likely means.

/// Names longer than this are not compared.
const MAX_LENGTH: usize = 100;

/// Returns the name in `known` that is nearest to `name`. Case, `_`, `-` and a final `[]` are
/// ignored. At most a quarter of the characters of `name` may differ, but one differing character
/// is always allowed.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if name.len() > MAX_LENGTH {
        return None;
    }
    let normalized = normalize(name);
    let max_distance = (normalized.chars().count() / 4).max(1);
    known
        .into_iter()
        .map(|known| {
            let distance = strsim::damerau_levenshtein(&normalized, &normalize(known));
            (distance, known)
        })
        .filter(|(distance, _)| *distance <= max_distance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn normalize(name: &str) -> String {
    name.trim_end_matches("[]")
        .chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_nearest_known_name() {
        let names = [
            "checkInFrom",
            "checkInTo",
            "propertyIds",
            "isActive",
            "limit",
        ];
        for (name, expected) in [
            ("checkinFrom", Some("checkInFrom")),
            ("check_in_from", Some("checkInFrom")),
            ("propertyIds[]", Some("propertyIds")),
            ("propertyId", Some("propertyIds")),
            ("isActve", Some("isActive")),
            ("limt", Some("limit")),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, names), expected, "{name}");
        }
    }
}
