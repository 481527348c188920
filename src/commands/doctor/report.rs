//! The report of `vestibule doctor`: the results of the checks, printed as text.

use std::fmt;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    Passed,
    /// The service works, but the operator should know about the finding.
    Note,
    /// The service does not work correctly.
    Error,
}

/// The result of a check, with advice for the operator.
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
    pub(super) fn add_success(&mut self, area: &'static str, text: &str) {
        self.add(area, Severity::Passed, text, None);
    }

    /// Adds a note for the operator, with a remedy.
    pub(super) fn add_note(&mut self, area: &'static str, text: &str, remedy: &str) {
        self.add(area, Severity::Note, text, Some(remedy));
    }

    /// Adds a fault to the report, with the remedy that the operator can apply.
    pub(super) fn add_error(&mut self, area: &'static str, text: &str, remedy: &str) {
        self.add(area, Severity::Error, text, Some(remedy));
    }

    /// Returns the number of findings with the severity `Error`.
    pub(super) fn error_count(&self) -> usize {
        let findings = self.0.iter();
        findings
            .filter(|finding| finding.severity == Severity::Error)
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
                Severity::Passed => "ok",
                Severity::Note => "note",
                Severity::Error => "wrong",
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
        report.add_success("clock", "right");
        report.add_error("database", "gone", "start it");
        assert_eq!(
            report.to_string(),
            "ok    clock        right\nwrong database     gone\n                   -> start it\n"
        );
        assert_eq!(report.error_count(), 1);
    }
}
