//! The table with the results of all scenarios.

use std::fmt::{Display, Formatter, Result, Write as _};

use bench::report::{figure, median, ninety_ninth};

use crate::crowd::grouped;

/// The result of a scenario.
#[derive(Debug)]
pub struct Row {
    /// The name of the scenario.
    pub what: &'static str,
    /// A description of the load that the attacker caused.
    pub load: String,
    /// The maximum memory of the server during the attack, in MiB.
    pub memory: f64,
    /// The times of the victim's requests from sending to the response, in milliseconds.
    pub times: Vec<f64>,
    /// The number of the victim's requests that got no response, or a response that asks the client
    /// to try again.
    pub refused: u64,
    /// The number of acknowledged writes that are missing.
    pub lost: usize,
    /// The number of writes that were applied more than once.
    pub duplicates: usize,
    /// The number of defects other than lost and duplicate writes.
    pub wrong: usize,
}

impl Row {
    /// Returns whether this row shows no loss, no duplicate and no other defect.
    pub const fn is_clean(&self) -> bool {
        self.lost == 0 && self.duplicates == 0 && self.wrong == 0
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self {
            what,
            load: held,
            memory,
            times,
            refused,
            lost,
            duplicates: double,
            wrong,
        } = self;
        let longest = times.iter().copied().fold(0.0, f64::max);
        let [p50, p99, longest] = [median(times), ninety_ninth(times), longest].map(milliseconds);
        let requests = grouped(u64::try_from(times.len()).unwrap_or(u64::MAX));
        let memory = figure(*memory);
        write!(
            f,
            "| {what} | {held}; {memory} MiB | {requests} · {p50} · {p99} · {longest} · {} |",
            grouped(*refused)
        )?;
        write!(f, " {lost} | {double} | {wrong} |")
    }
}

fn milliseconds(value: f64) -> String {
    if value < 1_000.0 {
        format!("{} ms", figure(value))
    } else {
        format!("{:.1} s", value / 1_000.0)
    }
}

/// Returns the table: a heading, and these rows below it.
pub fn table(heading: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "{heading}\n\n| scenario | load; the server's maximum memory | victim: requests · p50 · \
            p99 · longest · refused | lost | double | wrong |\n|---|---|---|---:|---:|---:|\n"
    );
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{row}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_times_refusals_and_faults_of_the_victim() {
        let times = vec![1.0, 2.0, 1_500.0];
        let row = Row {
            what: "kills",
            load: "3 kills".into(),
            memory: 41.3,
            times,
            refused: 1_200,
            lost: 0,
            duplicates: 0,
            wrong: 0,
        };
        assert_eq!(
            row.to_string(),
            "| kills | 3 kills; 41.3 MiB | 3 · 2.00 ms · 1.5 s · 1.5 s · 1,200 | 0 | 0 | 0 |"
        );
        assert!(row.is_clean() && !Row { lost: 1, ..row }.is_clean());
    }
}
