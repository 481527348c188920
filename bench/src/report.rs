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
    pub fn ratio(what: String, ours: String, yardstick: String, ratio: f64, target: Option<f64>) -> Self {
        let verdict = target.map(|target| ratio >= target);
        let target = target.map_or(NONE.to_owned(), |target| format!("≥ {target}"));
        Self { what, ours, yardstick, ratio: format!("{ratio:.2}"), target, verdict: word(verdict) }
    }

    /// A figure by itself, at most the target.
    pub fn limit(what: String, value: f64, unit: &str, target: Option<f64>) -> Self {
        let verdict = target.map(|target| value <= target);
        let target = target.map_or(NONE.to_owned(), |target| format!("≤ {target} {unit}"));
        Self { what, ours: format!("{value:.1} {unit}"), yardstick: NONE.into(), ratio: NONE.into(), target, verdict: word(verdict) }
    }
}

const fn word(is_met: Option<bool>) -> &'static str {
    match is_met {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => NONE,
    }
}

/// The median of at least one figure.
pub fn median(figures: &[f64]) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    match (figures.len() / 2, figures.len() % 2) {
        (0, 0) => f64::NAN,
        (middle, 0) => f64::midpoint(figures[middle - 1], figures[middle]),
        (middle, _) => figures[middle],
    }
}

/// The lines, under a heading.
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
    fn a_target_is_met_or_it_is_not() {
        let lines = [
            Line::ratio("lists".into(), "30/s".into(), "100/s (bare)".into(), 0.3, Some(0.25)),
            Line::limit("memory".into(), 41.0, "MiB", Some(40.0)),
            Line::limit("more memory".into(), 41.0, "MiB", None),
        ];
        let table = table("today", &lines);
        assert!(table.contains("| lists | 30/s | 100/s (bare) | 0.30 | ≥ 0.25 | yes |\n"), "{table}");
        assert!(table.contains("| memory | 41.0 MiB | – | – | ≤ 40 MiB | **no** |\n"), "{table}");
        assert!(table.ends_with("| more memory | 41.0 MiB | – | – | – | – |\n"), "{table}");
    }
}
