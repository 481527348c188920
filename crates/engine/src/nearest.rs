//! The search for the known name that a misspelt one most likely means.

/// Names longer than this are not compared.
const LONGEST: usize = 100;

/// Returns the known name that is nearest to `name`. Case, `_`, `-` and a final `[]` are ignored.
/// One letter in four may be wrong.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if name.len() > LONGEST {
        return None;
    }
    let plain = plain(name);
    let most = (plain.chars().count() / 4).max(1);
    known
        .into_iter()
        .map(|known| {
            let distance = strsim::damerau_levenshtein(&plain, &self::plain(known));
            (distance, known)
        })
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn plain(name: &str) -> String {
    name.trim_end_matches("[]")
        .chars()
        .filter(|letter| !matches!(letter, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_nearest_known_name() {
        let known = [
            "checkInFrom",
            "checkInTo",
            "propertyIds",
            "isActive",
            "limit",
        ];
        for (name, wanted) in [
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
            assert_eq!(nearest(name, known), wanted, "{name}");
        }
    }
}
