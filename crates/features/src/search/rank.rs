//! Decides which names match a query, and in which order (rules: records#search).
//!
//! [`fold`] removes case and accents from a query and a name before they are compared. If either
//! has hyphens, they are also compared without hyphens. The fit is the first value of [`Fit`] that
//! describes the match.
//!
//! A word of the query can be a word for a type of result ([`FoundType::is_called`]), such as
//! `guest`. The word is then a hint at this type. For results of this type, only the other words of
//! the query need to match. Results of other types that match only these other words come last.
//!
//! Results are ordered by fit, length of the name, order of [`FoundType`], name and id. So the
//! order does not depend on the table from which a name was read.

use std::borrow::Cow;
use std::collections::BinaryHeap;

use engine::fold::{fold, fold_into};
use schemars::JsonSchema;
use serde::Serialize;
use strum::VariantArray;
use uuid::Uuid;

/// Type of a result. Among results with an equal match, the types come in this order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum FoundType {
    PrecheckStep,
    Manual,
    ManualCategory,
    Portal,
    PortalBranding,
    Property,
    PropertyGroup,
    Tag,
    Reservation,
}

impl FoundType {
    /// Returns whether a folded word is a common word for this type, such as `flat` for a property.
    fn is_called(self, word: &str) -> bool {
        let words: &[&str] = match self {
            Self::PrecheckStep => &["step", "precheck", "pre-check-in", "precheckin"],
            Self::Manual => &["manual", "guide", "instruction"],
            Self::ManualCategory => &["category", "categorie", "heading", "manual"],
            Self::Portal => &["portal"],
            Self::PortalBranding => &["branding", "portal"],
            Self::Property => &[
                "property",
                "propertie",
                "flat",
                "apartment",
                "house",
                "listing",
            ],
            Self::PropertyGroup => &["group", "property"],
            Self::Tag => &["tag"],
            Self::Reservation => &["reservation", "booking", "stay", "guest"],
        };
        words.contains(&word.strip_suffix('s').unwrap_or(word))
    }
}

/// How a name matches a query, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// The name equals the query.
    Exact,
    /// The name begins with the query.
    Prefix,
    /// A word of the name begins with the query. A word begins after any character that is neither
    /// a letter nor a digit.
    WordPrefix,
    /// The name contains the query.
    Substring,
    /// The name contains every word of the query.
    Words,
    /// The letters and digits of the query occur in the name from the beginning of a word on.
    /// Spaces and other characters are ignored: the query `lamorada` matches "Piso La Morada".
    RunTogether,
}

/// A search query in two forms: with its hyphens, and without them. The second form finds names
/// that have hyphens.
#[derive(Debug)]
pub struct Query {
    plain: SearchTerms,
    /// The query without its hyphens, for names with hyphens; `None` if the query consists of
    /// hyphens only.
    joined: Option<SearchTerms>,
}

/// A text to search for, in three forms that are compared with a name: the whole text (`whole`),
/// its words (`words`), and only its letters and digits (`letters`).
#[derive(Debug)]
struct SearchTerms {
    whole: String,
    words: Vec<String>,
    letters: String,
}

impl Query {
    /// Prepares a query. Returns `None` if nothing remains of the query after folding, because an
    /// empty query would match every name.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Self::of_folded(fold(text))
    }

    fn of_folded(whole: String) -> Option<Self> {
        let joined = SearchTerms::of(without_hyphens(&whole).into_owned());
        SearchTerms::of(whole).map(|plain| Self { plain, joined })
    }

    /// Returns the query without the words that hint at a type of result. Returns `None` if no word
    /// is a hint, or if every word is a hint.
    fn without(&self, is_hint: impl Fn(&str) -> bool) -> Option<Self> {
        let rest: Vec<&str> = self
            .plain
            .words
            .iter()
            .map(String::as_str)
            .filter(|word| !is_hint(word))
            .collect();
        if rest.len() == self.plain.words.len() {
            None
        } else {
            Self::of_folded(rest.join(" "))
        }
    }

    /// Returns the query in folded form ([`engine::fold::fold`]): in lower case and without
    /// accents.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.plain.whole
    }

    /// Returns how a folded name matches the query; `None` if the name does not match.
    fn fit(&self, name: &str) -> Option<Fit> {
        let plain = self.plain.fit(name);
        if !name.contains(is_hyphen) && !self.plain.whole.contains(is_hyphen) {
            return plain;
        }
        let joined = self
            .joined
            .as_ref()
            .and_then(|terms| terms.fit(&without_hyphens(name)));
        [plain, joined].into_iter().flatten().min()
    }
}

impl SearchTerms {
    /// Splits a search text into words, and extracts its letters and digits. Returns `None` if the
    /// text is empty.
    fn of(whole: String) -> Option<Self> {
        let words = whole
            .split([' ', ','])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let letters = whole
            .chars()
            .filter(|letter| letter.is_alphanumeric())
            .collect();
        (!whole.is_empty()).then_some(Self {
            whole,
            words,
            letters,
        })
    }

    fn fit(&self, name: &str) -> Option<Fit> {
        let Self {
            whole,
            words,
            letters,
        } = self;
        if name.contains(whole.as_str()) {
            return Some(if name.len() == whole.len() {
                Fit::Exact
            } else if name.starts_with(whole.as_str()) {
                Fit::Prefix
            } else if words_like(name, whole).any(|rest| rest.starts_with(whole.as_str())) {
                Fit::WordPrefix
            } else {
                Fit::Substring
            });
        }
        let is_of_words = words.len() > 1 || !words.is_empty() && whole.contains(',');
        if is_of_words && words.iter().all(|word| name.contains(word.as_str())) {
            return Some(Fit::Words);
        }
        words_like(name, letters)
            .any(|rest| begins_with_letters(rest, letters))
            .then_some(Fit::RunTogether)
    }
}

/// Returns whether a character is a hyphen or a dash that can join words: ASCII hyphen, soft
/// hyphen, or one of the Unicode dashes up to the en dash.
const fn is_hyphen(character: char) -> bool {
    matches!(character, '-' | '\u{ad}' | '\u{2010}'..='\u{2013}')
}

fn without_hyphens(text: &str) -> Cow<'_, str> {
    if text.contains(is_hyphen) {
        Cow::Owned(text.replace(is_hyphen, ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Finds the words of `name` that begin with the first letter of `text`. For each of these words,
/// returns the part of the name from the beginning of the word to the end of the name. A word
/// begins after any character that is neither a letter nor a digit. The letter is compared before
/// the character in front of it, because the test of that character needs a Unicode table and is
/// slower.
fn words_like<'n>(name: &'n str, text: &str) -> impl Iterator<Item = &'n str> {
    let offsets = text
        .chars()
        .next()
        .into_iter()
        .flat_map(|first| name.match_indices(first));
    let begins_word = |offset: usize| !name[..offset].ends_with(char::is_alphanumeric);
    offsets
        .filter(move |(offset, _)| begins_word(*offset))
        .map(|(offset, _)| &name[offset..])
}

fn begins_with_letters(rest: &str, letters: &str) -> bool {
    let mut name_letters = rest.chars().filter(|letter| letter.is_alphanumeric());
    letters
        .chars()
        .all(|letter| name_letters.next() == Some(letter))
}

/// A result of a search. The derived order compares the fields from first to last. Search results
/// are listed in ascending order, so the best result is the least one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// Whether the name matches neither the query nor the query without the words that hint at
    /// `found_type`, but only the query without the words that hint at any type.
    pub is_without_hints: bool,
    /// How the name matches.
    pub fit: Fit,
    /// Number of characters of the name.
    pub length: usize,
    pub found_type: FoundType,
    /// The name of the found object, as it is stored. Only comparisons use its folded form.
    pub name: String,
    pub id: Uuid,
}

/// A collection of the best results, up to a limit.
#[derive(Debug)]
pub struct BestHits {
    query: Query,
    /// For each type of object at which a word of the query hints, as `flat` hints at properties:
    /// the type, and the query without the words that hint at this type.
    hinted: Vec<(FoundType, Query)>,
    /// The query without all words that hint at a type. It is compared with names that fit neither
    /// `query` nor the query in `hinted` for the type of their object.
    rest: Option<Query>,
    limit: usize,
    /// The best results so far, with the worst of them on top of the heap.
    hits: BinaryHeap<Hit>,
    /// Buffer for the folded form of the name that is compared with the query. It is reused for
    /// each name, to save an allocation.
    folded: String,
}

impl BestHits {
    /// Creates a collection without results. It will keep the best `limit` of the results for
    /// `query` that are added to it.
    #[must_use]
    pub fn new(query: Query, limit: usize) -> Self {
        let of = |found_type: &FoundType| {
            query
                .without(|word| found_type.is_called(word))
                .map(|rest| (*found_type, rest))
        };
        Self {
            hinted: FoundType::VARIANTS.iter().filter_map(of).collect(),
            rest: query.without(|word| {
                FoundType::VARIANTS
                    .iter()
                    .any(|found_type| found_type.is_called(word))
            }),
            query,
            limit,
            hits: BinaryHeap::with_capacity(limit.saturating_add(1)),
            folded: String::new(),
        }
    }

    /// Returns the query that is compared with the names of objects of a type: the search query
    /// without the words that hint at this type.
    #[must_use]
    pub fn query_for(&self, found_type: FoundType) -> &Query {
        self.hinted
            .iter()
            .find(|(hinted_type, _)| *hinted_type == found_type)
            .map_or(&self.query, |(_, rest)| rest)
    }

    /// Compares a name with three forms of the query: the whole query, the query without the words
    /// that hint at `found_type`, and the query without any word that hints at a type. Uses the
    /// last form only if the name fits neither of the first two. Returns whether it was used, and
    /// how well the name fits. Returns `None` if the name fits no form.
    fn fit(&mut self, found_type: FoundType, text: &str) -> Option<(bool, Fit)> {
        fold_into(text, &mut self.folded);
        let hinted = self
            .hinted
            .iter()
            .find(|(hinted_type, _)| *hinted_type == found_type)
            .map(|(_, rest)| rest);
        let queries = [Some(&self.query), hinted].into_iter().flatten();
        let fit = queries
            .filter_map(|query| query.fit(&self.folded))
            .min()
            .map(|fit| (false, fit));
        fit.or_else(|| self.rest.as_ref()?.fit(&self.folded).map(|fit| (true, fit)))
    }

    /// Adds a result if `name` or `other_name` matches the query, and if the result is among the
    /// best so far. The better fit of the two names decides the order of results. Results with
    /// equal fits are ordered by the length of `name`, then by type, then by `name`. `may_see` is
    /// called only for a result that would be added.
    pub fn offer(
        &mut self,
        found_type: FoundType,
        id: Uuid,
        name: &str,
        other_name: Option<&str>,
        may_see: impl FnOnce() -> bool,
    ) {
        let fits = [Some(name), other_name]
            .into_iter()
            .flatten()
            .filter_map(|text| self.fit(found_type, text));
        let Some((is_aside, fit)) = fits.min() else {
            return;
        };
        let length = name.chars().count();
        if self.hits.len() >= self.limit
            && let Some(worst) = self.hits.peek()
            && (
                worst.is_without_hints,
                worst.fit,
                worst.length,
                worst.found_type,
                worst.name.as_str(),
                worst.id,
            ) <= (is_aside, fit, length, found_type, name, id)
        {
            return;
        }
        if may_see() {
            self.hits.push(Hit {
                is_without_hints: is_aside,
                fit,
                length,
                found_type,
                name: name.to_owned(),
                id,
            });
            if self.hits.len() > self.limit {
                self.hits.pop();
            }
        }
    }

    /// Adds a result that the query names directly, for example by its id. The result is ranked as
    /// an exact match.
    pub fn add_exact(&mut self, found_type: FoundType, id: Uuid, name: &str) {
        self.hits.push(Hit {
            is_without_hints: false,
            fit: Fit::Exact,
            length: name.chars().count(),
            found_type,
            name: name.to_owned(),
            id,
        });
        if self.hits.len() > self.limit {
            self.hits.pop();
        }
    }

    /// Returns the results, the best first.
    #[must_use]
    pub fn into_sorted(self) -> Vec<Hit> {
        self.hits.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fit(query: &str, name: &str) -> Option<Fit> {
        Query::new(query)?.fit(&fold(name))
    }

    #[test]
    fn a_name_gets_the_best_fit_for_its_query() {
        for (query, name, expected) in [
            ("azul", "AZUL", Some(Fit::Exact)),
            ("azul", " Azúl ", Some(Fit::Exact)),
            ("azul", "Azulejos", Some(Fit::Prefix)),
            ("azul", "Casa Azul", Some(Fit::WordPrefix)),
            ("azul", "Casa (azulada)", Some(Fit::WordPrefix)),
            ("azul", "Casa-Azul", Some(Fit::WordPrefix)),
            // `ba a a` contains `a a` twice, at overlapping positions. Only the second occurrence
            // starts at the beginning of a word.
            ("a a", "ba a a", Some(Fit::WordPrefix)),
            ("azul", "Grazul", Some(Fit::Substring)),
            ("azul casa", "La casa azul", Some(Fit::Words)),
            ("zul asa", "La casa azul", Some(Fit::Words)),
            ("azul, casa", "La casa azul", Some(Fit::Words)),
            ("azul,casa,", "La casa azul", Some(Fit::Words)),
            ("casa,", "La casa azul", Some(Fit::Words)),
            (",", "La casa azul", None),
            ("王小明", "王 小明", Some(Fit::RunTogether)),
            ("casa  azul", "La casa azul", Some(Fit::WordPrefix)),
            ("wifi", "Wi-Fi", Some(Fit::Exact)),
            ("wi\u{2011}fi", "Wi-Fi", Some(Fit::Exact)),
            ("wi-fi", "WiFi upstairs", Some(Fit::Prefix)),
            ("lamorada", "Piso La Móràda", Some(Fit::RunTogether)),
            ("wi-fi", "Free WiFi", Some(Fit::WordPrefix)),
            ("amorada", "La Móràda", None),
            ("azul verde", "La casa azul", None),
            ("-", "Casa Azul", None),
            ("azul", "", None),
            ("\u{301}", "", None),
        ] {
            assert_eq!(fit(query, name), expected, "{query} in {name}");
        }
    }

    #[test]
    fn equal_fits_are_ordered_by_length_type_name_and_id() {
        let mut best = BestHits::new(Query::new("azul").unwrap(), 9);
        for (found_type, name, id) in [
            (FoundType::Tag, "Azul b", 1),
            (FoundType::Property, "Azul b", 3),
            (FoundType::Property, "Azul b", 2),
            (FoundType::Property, "Azul a", 9),
            (FoundType::Manual, "Azul z", 5),
            (FoundType::Tag, "Azul", 8),
            (FoundType::PrecheckStep, "Azul zz", 4),
            (FoundType::PrecheckStep, "Verde", 6),
        ] {
            best.offer(found_type, Uuid::from_u128(id), name, None, || true);
        }
        let ids: Vec<_> = best
            .into_sorted()
            .iter()
            .map(|hit| hit.id.as_u128())
            .collect();
        assert_eq!(ids, [8, 5, 9, 2, 3, 1, 4]);
    }

    #[test]
    fn the_better_name_ranks_and_the_own_name_is_shown() {
        let mut best = BestHits::new(Query::new("deposit").unwrap(), 2);
        best.offer(
            FoundType::PrecheckStep,
            Uuid::from_u128(1),
            "Kaution",
            Some("Deposit"),
            || true,
        );
        best.offer(
            FoundType::PrecheckStep,
            Uuid::from_u128(2),
            "Deposits",
            Some("Money"),
            || true,
        );
        best.offer(
            FoundType::PrecheckStep,
            Uuid::from_u128(3),
            "Kaution",
            Some("Money"),
            || true,
        );
        let found: Vec<_> = best
            .into_sorted()
            .into_iter()
            .map(|hit| (hit.fit, hit.name))
            .collect();
        assert_eq!(
            found,
            [
                (Fit::Exact, "Kaution".to_owned()),
                (Fit::Prefix, "Deposits".to_owned())
            ]
        );
    }

    #[test]
    fn a_query_word_for_the_type_is_a_hint() {
        let mut best = BestHits::new(Query::new("Eixample group").unwrap(), 9);
        for (found_type, name, id) in [
            (FoundType::Property, "Eixample flat", 1),
            (FoundType::PropertyGroup, "Gràcia", 2),
            (FoundType::PropertyGroup, "Eixample", 3),
            (FoundType::Tag, "Group of the Eixample", 4),
        ] {
            best.offer(found_type, Uuid::from_u128(id), name, None, || true);
        }
        let found: Vec<_> = best
            .into_sorted()
            .iter()
            .map(|hit| (hit.id.as_u128(), hit.fit, hit.is_without_hints))
            .collect();
        assert_eq!(
            found,
            [
                (3, Fit::Exact, false),
                (4, Fit::Words, false),
                (1, Fit::Prefix, true)
            ]
        );
    }

    /// Computes the fit of a name by a simple second implementation, with which the tests compare
    /// the search. Compares the name once with and once without hyphens.
    fn literal_fit(query: &str, name: &str) -> Option<Fit> {
        let (query, name) = (fold(query), fold(name));
        let without = |text: &str| text.replace(is_hyphen, "");
        [
            literal_plain(&query, &name),
            literal_plain(&without(&query), &without(&name)),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Computes the fit of a name directly from the definition of each kind of fit, on lists of
    /// characters. This function is slow but easy to verify. The tests compare its results with
    /// those of the function that searches use.
    fn literal_plain(query: &str, name: &str) -> Option<Fit> {
        let (query, name): (Vec<char>, Vec<char>) =
            (query.chars().collect(), name.chars().collect());
        let places = |part: &[char]| {
            (0..=name.len())
                .filter(|at| name[*at..].starts_with(part))
                .collect::<Vec<_>>()
        };
        let begins_word = |at: &usize| *at == 0 || !name[at - 1].is_alphanumeric();
        let run_together = |text: &[char]| {
            text.iter()
                .copied()
                .filter(|letter| letter.is_alphanumeric())
                .collect::<Vec<_>>()
        };
        let words: Vec<&[char]> = query
            .split(|letter| matches!(letter, ' ' | ','))
            .filter(|word| !word.is_empty())
            .collect();
        let holds = [
            (Fit::Exact, name == query),
            (Fit::Prefix, places(&query).contains(&0)),
            (Fit::WordPrefix, places(&query).iter().any(begins_word)),
            (Fit::Substring, !places(&query).is_empty()),
            (
                Fit::Words,
                (words.len() > 1 || !words.is_empty() && query.contains(&','))
                    && words.iter().all(|word| !places(word).is_empty()),
            ),
            (
                Fit::RunTogether,
                !run_together(&query).is_empty()
                    && (0..name.len())
                        .filter(begins_word)
                        .any(|at| run_together(&name[at..]).starts_with(&run_together(&query))),
            ),
        ];
        if query.is_empty() {
            None
        } else {
            holds
                .into_iter()
                .find(|(_, holds)| *holds)
                .map(|(fit, _)| fit)
        }
    }

    fn names() -> impl Strategy<Value = String> {
        "[aAáb\u{301}ßsœØ1 -]{0,7}"
    }

    fn types() -> impl Strategy<Value = FoundType> {
        use FoundType::{
            Manual, ManualCategory, Portal, PortalBranding, PrecheckStep, Property, PropertyGroup,
            Tag,
        };
        prop::sample::select(vec![
            PrecheckStep,
            Manual,
            ManualCategory,
            Portal,
            PortalBranding,
            Property,
            PropertyGroup,
            Tag,
        ])
    }

    proptest! {
        #[test]
        fn fits_agree_with_the_contract(query in names(), name in names()) {
            prop_assert_eq!(fit(&query, &name), literal_fit(&query, &name));
        }

        #[test]
        fn the_best_hits_are_the_first_of_all_sorted_hits(
            query in "[abß1 -]{0,2}[abß1]",
            offered in prop::collection::vec(
                (
                    types(),
                    names(),
                    prop::option::of(names()),
                    0..4_u128,
                    any::<bool>(),
                ),
                0..40,
            ),
            limit in 1..8_usize,
        ) {
            let mut best = BestHits::new(Query::new(&query).unwrap(), limit);
            let mut all = Vec::new();
            for (found_type, name, other_name, id, is_visible) in offered {
                let id = Uuid::from_u128(id);
                best.offer(found_type, id, &name, other_name.as_deref(), || is_visible);
                let fits = [
                    literal_fit(&query, &name),
                    other_name.and_then(|other_name| literal_fit(&query, &other_name)),
                ];
                if let (Some(fit), true) = (fits.into_iter().flatten().min(), is_visible) {
                    all.push(Hit {
                        is_without_hints: false,
                        fit,
                        length: name.chars().count(),
                        found_type,
                        name,
                        id,
                    });
                }
            }
            all.sort_by(|one, other| {
                let by_type = one
                    .fit
                    .cmp(&other.fit)
                    .then(one.length.cmp(&other.length))
                    .then(one.found_type.cmp(&other.found_type));
                by_type
                    .then_with(|| one.name.cmp(&other.name))
                    .then(one.id.cmp(&other.id))
            });
            all.truncate(limit);
            prop_assert_eq!(best.into_sorted(), all);
        }
    }
}
