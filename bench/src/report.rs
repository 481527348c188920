//! The table with the results of the benchmark.

use std::fmt::Write as _;

/// A line of the results table. It names the measurement and has the figure of the service (`ours`)
/// and that of the yardstick. `ratio` compares the two. A target applies to the ratio, or to the
/// figure of the service.
#[derive(Debug)]
pub struct Line {
    what: String,
    ours: String,
    yardstick: String,
    ratio: String,
    target: String,
    verdict: &'static str,
}

/// The content of an empty cell.
const NONE: &str = "–";

impl Line {
    /// Returns a line that compares a figure of the service with a figure of a yardstick. A larger
    /// ratio is better. The target is the minimum ratio.
    #[must_use]
    pub fn ratio(
        what: String,
        ours: String,
        yardstick: String,
        ratio: f64,
        target: Option<f64>,
    ) -> Self {
        let is_met = target.map(|target| ratio >= target);
        let target = target.map_or(NONE.to_owned(), |target| format!("≥ {target}"));
        Self {
            what,
            ours,
            yardstick,
            ratio: format!("{ratio:.2}"),
            target,
            verdict: verdict_text(is_met),
        }
    }

    /// Returns a line that compares a figure with the figure of a base case, such as a smaller
    /// organization. The target is the maximum ratio.
    #[must_use]
    pub fn growth(what: String, ours: String, smaller: String, ratio: f64, target: f64) -> Self {
        let verdict = verdict_text(Some(ratio <= target));
        Self {
            what,
            ours,
            yardstick: smaller,
            ratio: format!("{ratio:.2}"),
            target: format!("≤ {target}"),
            verdict,
        }
    }

    /// Returns a line with one figure. The figure meets the target if it is at most `target`.
    #[must_use]
    pub fn limit(what: String, value: f64, unit: &str, target: Option<f64>) -> Self {
        let is_met = target.map(|target| value <= target);
        let target = target.map_or(NONE.to_owned(), |target| format!("≤ {target} {unit}"));
        let ours = format!("{} {unit}", figure(value));
        Self {
            what,
            ours,
            yardstick: NONE.into(),
            ratio: NONE.into(),
            target,
            verdict: verdict_text(is_met),
        }
    }
}

const fn verdict_text(is_met: Option<bool>) -> &'static str {
    match is_met {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => NONE,
    }
}

/// Formats a figure with about three digits. Digits before the decimal point are never dropped.
#[must_use]
pub fn figure(value: f64) -> String {
    let digits = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}

/// Returns the median of some figures, or NaN if there are none.
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

/// Returns the 99th percentile of some figures.
#[must_use]
pub fn ninety_ninth(figures: &[f64]) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    let index = (figures.len() * 99).div_ceil(100).saturating_sub(1);
    figures.get(index).copied().unwrap_or(f64::NAN)
}

/// Returns the table: a heading, and these lines below it.
#[must_use]
pub fn table(heading: &str, lines: &[Line]) -> String {
    let mut text = format!(
        "{heading}\n\n| | Vestibule | yardstick | ratio | target | met \
            |\n|---|---:|---:|---:|---:|---|\n"
    );
    for Line {
        what,
        ours,
        yardstick,
        ratio,
        target,
        verdict,
    } in lines
    {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {what} | {ours} | {yardstick} | {ratio} | {target} | {verdict} |"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
    }

    #[test]
    fn the_99th_percentile_leaves_a_hundredth_above() {
        let figures: Vec<f64> = (1..=200_u8).rev().map(f64::from).collect();
        assert!((ninety_ninth(&figures) - 198.0).abs() < f64::EPSILON);
        assert!((ninety_ninth(&[7.0]) - 7.0).abs() < f64::EPSILON);
    }

    #[test]
    fn figures_are_rounded_to_about_three_digits() {
        assert_eq!(
            [0.8, 9.87, 41.0, 100.4, 16_300.2].map(figure),
            ["0.80", "9.87", "41.0", "100", "16300"]
        );
    }

    #[test]
    fn the_table_shows_whether_targets_are_met() {
        let lines = [
            Line::ratio(
                "lists".into(),
                "30/s".into(),
                "100/s (bare)".into(),
                0.3,
                Some(0.25),
            ),
            Line::growth(
                "grown".into(),
                "1.60 ms".into(),
                "1.00 ms (one)".into(),
                1.6,
                1.5,
            ),
            Line::limit("memory".into(), 41.0, "MiB", Some(40.0)),
            Line::limit("more memory".into(), 41.0, "MiB", None),
        ];
        let table = table("today", &lines);
        assert!(
            table.contains("| lists | 30/s | 100/s (bare) | 0.30 | ≥ 0.25 | yes |\n"),
            "{table}"
        );
        assert!(
            table.contains("| grown | 1.60 ms | 1.00 ms (one) | 1.60 | ≤ 1.5 | **no** |\n"),
            "{table}"
        );
        assert!(
            table.contains("| memory | 41.0 MiB | – | – | ≤ 40 MiB | **no** |\n"),
            "{table}"
        );
        assert!(
            table.ends_with("| more memory | 41.0 MiB | – | – | – | – |\n"),
            "{table}"
        );
    }
}
