//! The table.

use std::fmt::Write as _;

/// A line of the table.
#[derive(Debug)]
pub struct Line {
    what: String,
    ours: String,
    yardstick: String,
    ratio: String,
    target: String,
    verdict: &'static str,
}

/// Nothing to say in this cell.
const NONE: &str = "–";

impl Line {
    /// Two figures side by side; the ratio is the better the larger it is, and at least the target.
    #[must_use]
    pub fn ratio(what: String, ours: String, yardstick: String, ratio: f64, target: Option<f64>) -> Self {
        let verdict = target.map(|target| ratio >= target);
        let target = target.map_or(NONE.to_owned(), |target| format!("≥ {target}"));
        Self { what, ours, yardstick, ratio: format!("{ratio:.2}"), target, verdict: word(verdict) }
    }

    /// A figure beside the same one of a smaller case; the ratio is at most the target.
    #[must_use]
    pub fn growth(what: String, ours: String, smaller: String, ratio: f64, target: f64) -> Self {
        let verdict = word(Some(ratio <= target));
        Self { what, ours, yardstick: smaller, ratio: format!("{ratio:.2}"), target: format!("≤ {target}"), verdict }
    }

    /// A figure by itself, at most the target.
    #[must_use]
    pub fn limit(what: String, value: f64, unit: &str, target: Option<f64>) -> Self {
        let verdict = target.map(|target| value <= target);
        let target = target.map_or(NONE.to_owned(), |target| format!("≤ {target} {unit}"));
        let ours = format!("{} {unit}", figure(value));
        Self { what, ours, yardstick: NONE.into(), ratio: NONE.into(), target, verdict: word(verdict) }
    }
}

const fn word(is_met: Option<bool>) -> &'static str {
    match is_met {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => NONE,
    }
}

/// A figure with about three digits, or all that stand before the point.
#[must_use]
pub fn figure(value: f64) -> String {
    let digits = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// The median of at least one figure.
#[must_use]
pub fn median(figures: &[f64]) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    match (figures.len() / 2, figures.len() % 2) {
        (0, 0) => f64::NAN,
        (middle, 0) => f64::midpoint(figures[middle - 1], figures[middle]),
        (middle, _) => figures[middle],
    }
}

/// What 99 of 100 figures are at the most.
#[must_use]
pub fn ninety_ninth(figures: &[f64]) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    let place = (figures.len() * 99).div_ceil(100).saturating_sub(1);
    figures.get(place).copied().unwrap_or(f64::NAN)
}

/// The lines, under a heading.
#[must_use]
pub fn table(heading: &str, lines: &[Line]) -> String {
    let mut text = format!("{heading}\n\n| | Vestibule | yardstick | ratio | target | met |\n|---|---:|---:|---:|---:|---|\n");
    for Line { what, ours, yardstick, ratio, target, verdict } in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {what} | {ours} | {yardstick} | {ratio} | {target} | {verdict} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_the_middle() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
    }

    #[test]
    fn one_in_a_hundred_is_beyond_the_ninety_ninth() {
        let figures: Vec<f64> = (1..=200_u8).rev().map(f64::from).collect();
        assert!((ninety_ninth(&figures) - 198.0).abs() < f64::EPSILON);
        assert!((ninety_ninth(&[7.0]) - 7.0).abs() < f64::EPSILON);
    }

    #[test]
    fn figures_have_about_three_digits() {
        assert_eq!([0.8, 9.87, 41.0, 100.4, 16_300.2].map(figure), ["0.80", "9.87", "41.0", "100", "16300"]);
    }

    #[test]
    fn a_target_is_met_or_it_is_not() {
        let lines = [
            Line::ratio("lists".into(), "30/s".into(), "100/s (bare)".into(), 0.3, Some(0.25)),
            Line::growth("grown".into(), "1.60 ms".into(), "1.00 ms (one)".into(), 1.6, 1.5),
            Line::limit("memory".into(), 41.0, "MiB", Some(40.0)),
            Line::limit("more memory".into(), 41.0, "MiB", None),
        ];
        let table = table("today", &lines);
        assert!(table.contains("| lists | 30/s | 100/s (bare) | 0.30 | ≥ 0.25 | yes |\n"), "{table}");
        assert!(table.contains("| grown | 1.60 ms | 1.00 ms (one) | 1.60 | ≤ 1.5 | **no** |\n"), "{table}");
        assert!(table.contains("| memory | 41.0 MiB | – | – | ≤ 40 MiB | **no** |\n"), "{table}");
        assert!(table.ends_with("| more memory | 41.0 MiB | – | – | – | – |\n"), "{table}");
    }
}
