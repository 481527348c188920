//! The findings of `vestibule doctor`, as text for a person.

use std::fmt;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    /// Works.
    Good,
    /// Works, but an operator should know it.
    Note,
    /// Does not work.
    Wrong,
}

/// A finding, and its remedy.
#[derive(Debug)]
struct Finding {
    area: &'static str,
    verdict: Severity,
    text: String,
    remedy: Option<String>,
}

/// The findings, in the order of the checks.
#[derive(Debug, Default)]
pub(super) struct DoctorReport(Vec<Finding>);

impl DoctorReport {
    /// Adds something that is as it should be.
    pub(super) fn good(&mut self, area: &'static str, text: &str) {
        self.add(area, Severity::Good, text, None);
    }

    /// Adds a remark for an operator, with a remedy.
    pub(super) fn note(&mut self, area: &'static str, text: &str, remedy: &str) {
        self.add(area, Severity::Note, text, Some(remedy));
    }

    /// Adds a fault, with a remedy.
    pub(super) fn wrong_with(&mut self, area: &'static str, text: &str, remedy: &str) {
        self.add(area, Severity::Wrong, text, Some(remedy));
    }

    /// Returns the number of things that are wrong.
    pub(super) fn wrong(&self) -> usize {
        let wrong = self.0.iter();
        wrong
            .filter(|finding| finding.verdict == Severity::Wrong)
            .count()
    }

    fn add(&mut self, area: &'static str, verdict: Severity, text: &str, remedy: Option<&str>) {
        self.0.push(Finding {
            area,
            verdict,
            text: text.to_owned(),
            remedy: remedy.map(str::to_owned),
        });
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.0 {
            let verdict = match finding.verdict {
                Severity::Good => "ok",
                Severity::Note => "note",
                Severity::Wrong => "wrong",
            };
            writeln!(f, "{verdict:<6}{:<13}{}", finding.area, finding.text)?;
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
    fn a_report_says_what_to_do() {
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
