//! The operation `searchCoverIcons`, which searches Lucide's icons by name (rules: manuals#covers).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use engine::operation::{CacheBasis, Needs, Operation, OperationName};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Searches icons for the cover of a manual.
pub const SEARCH_COVER_ICONS: OperationName<CoverIcons> = OperationName::new("searchCoverIcons");

/// The name and the tags of each icon. `data/README.md` gives the source and the licence of the
/// icons.
const CATALOGUE: &str = include_str!("../../../../data/icons.json");

/// The names of all icons, in alphabetical order and in lower case.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let icons: BTreeMap<&'static str, Vec<&'static str>> =
        serde_json::from_str(CATALOGUE).unwrap_or_default();
    icons.into_keys().collect()
});

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundIcons {
    /// The matching names in alphabetical order, up to the limit.
    pub items: Vec<&'static str>,
    /// The number of matches, including those beyond the limit.
    pub total: usize,
}

/// Returns the icons whose names contain the query, ignoring case. Without a query, returns every
/// icon.
#[must_use]
pub fn search(query: Option<&str>, limit: usize) -> FoundIcons {
    let query = query.unwrap_or_default().to_lowercase();
    let mut items: Vec<_> = NAMES
        .iter()
        .copied()
        .filter(|name| name.contains(&query))
        .collect();
    let total = items.len();
    items.truncate(limit);
    FoundIcons { items, total }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SearchCoverIcons {
    /// Part of an icon's name, in upper or lower case; left out: every icon.
    #[serde(default)]
    #[schemars(length(max = 200))]
    query: Option<String>,
    /// Maximum number of icons. `total` is the number of all icons that match.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100), extend("x-page-size" = true))]
    limit: usize,
}

const fn default_limit() -> usize {
    25
}

/// Icons that match, in alphabetical order.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(example = json!({
    "items": [{ "name": "house-wifi" }, { "name": "wifi" }],
    "total": 10,
}))]
pub struct CoverIcons {
    pub items: Vec<CoverIcon>,
    /// Number of icons that match, even those beyond `limit`.
    pub total: usize,
}

/// An icon for the cover of a manual.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CoverIcon {
    /// Value for a manual's `iconName`.
    pub name: &'static str,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            SEARCH_COVER_ICONS.id(),
            Method::GET,
            "/cover-icons",
            Needs::Credential,
        )
        .summary("Search icons for the cover of a manual")
        .tool(
            "manuals",
            "Search cover icons",
            "Names of icons for the cover of a manual, for its field `iconName`. Example: \
                {\"query\": \"wifi\"}",
        )
        .cached(CacheBasis::Configuration)
        .run_as(SEARCH_COVER_ICONS, |_, input: SearchCoverIcons| {
            let FoundIcons { items, total } = search(input.query.as_deref(), input.limit);
            Ok(CoverIcons {
                items: items.into_iter().map(|name| CoverIcon { name }).collect(),
                total,
            })
        }),
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_icon_catalogue_is_sorted_and_lowercase() {
        assert_eq!(
            NAMES.len(),
            CATALOGUE.lines().count() - 2,
            "a line an icon, between two braces"
        );
        assert!(NAMES.is_sorted());
        let is_lower = |character: char| {
            character == '-' || character.is_ascii_lowercase() || character.is_ascii_digit()
        };
        assert!(NAMES.iter().all(|name| name.chars().all(is_lower)));
    }

    #[test]
    fn icons_are_found_by_part_of_their_name_but_not_by_tags() {
        assert_eq!(
            search(Some("HOUSE-wi"), 25),
            FoundIcons {
                items: vec!["house-wifi"],
                total: 1
            }
        );
        // `disability` is a tag of the icon `accessibility`. The search does not compare tags.
        assert_eq!(
            search(Some("disability"), 25),
            FoundIcons {
                items: vec![],
                total: 0
            }
        );
        assert_eq!(
            search(None, 2),
            FoundIcons {
                items: NAMES[..2].to_vec(),
                total: NAMES.len()
            }
        );
    }

    proptest! {
        #[test]
        fn the_total_is_counted_before_the_limit(
            query in "[A-Za-z0-9-]{1,3}",
            limit in 1..=100_usize,
        ) {
            let letters = query.to_ascii_lowercase().into_bytes();
            let has_them = |name: &&str| {
                name.as_bytes()
                    .windows(letters.len())
                    .any(|part| part == letters)
            };
            let matching: Vec<&str> = NAMES.iter().copied().filter(has_them).collect();
            let found = search(Some(&query), limit);
            prop_assert_eq!(found.total, matching.len());
            prop_assert_eq!(&found.items[..], &matching[..matching.len().min(limit)]);
        }
    }
}
