//! The report of `vestibule doctor`: the results of the checks, printed as text.

use std::fmt;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    /// The check passed.
    Good,
    /// The service works, but the operator should know about the finding.
    Note,
    /// The service does not work correctly.
    Wrong,
}

/// The result of a check, and what the operator can do about it.
#[derive(Debug)]
struct Finding {
    area: &'static str,
    severity: Severity,
    text: String,
    remedy: Option<String>,
}

/// The findings, in the order of the checks.
#[derive(Debug, Default)]
pub(super) struct DoctorReport(Vec<Finding>);

impl DoctorReport {
    /// Adds the result of a check that passed.
    pub(super) fn good(&mut self, area: &'static str, text: &str) {
        self.add(area, Severity::Good, text, None);
    }

    /// Adds a note for the operator, with a remedy.
    pub(super) fn note(&mut self, area: &'static str, text: &str, remedy: &str) {
        self.add(area, Severity::Note, text, Some(remedy));
    }

    /// Adds a fault, with a remedy.
    pub(super) fn wrong_with(&mut self, area: &'static str, text: &str, remedy: &str) {
        self.add(area, Severity::Wrong, text, Some(remedy));
    }

    /// Returns the number of faults.
    pub(super) fn wrong(&self) -> usize {
        let findings = self.0.iter();
        findings
            .filter(|finding| finding.severity == Severity::Wrong)
            .count()
    }

    fn add(&mut self, area: &'static str, severity: Severity, text: &str, remedy: Option<&str>) {
        self.0.push(Finding {
            area,
            severity,
            text: text.to_owned(),
            remedy: remedy.map(str::to_owned),
        });
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.0 {
            let severity = match finding.severity {
                Severity::Good => "ok",
                Severity::Note => "note",
                Severity::Wrong => "wrong",
            };
            writeln!(f, "{severity:<6}{:<13}{}", finding.area, finding.text)?;
            if let Some(remedy) = &finding.remedy {
                writeln!(f, "{:<19}-> {remedy}", "")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_lists_results_and_remedies() {
        let mut report = DoctorReport::default();
        report.good("clock", "right");
        report.wrong_with("database", "gone", "start it");
        assert_eq!(
            report.to_string(),
            "ok    clock        right\nwrong database     gone\n                   -> start it\n"
        );
        assert_eq!(report.wrong(), 1);
    }
}
