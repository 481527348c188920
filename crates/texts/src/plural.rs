//! Texts that depend on a number.

use std::fmt;

use crate::fill;

/// A text that depends on a number. It has a template for each plural form of the language.
pub struct Plural {
    /// The name of the placeholder that stands for the number.
    variable: &'static str,
    template: fn(i64) -> &'static str,
}

impl Plural {
    pub(crate) const fn new(variable: &'static str, template: fn(i64) -> &'static str) -> Self {
        Self { variable, template }
    }

    /// Returns the text for a number, with the number filled in.
    #[must_use]
    pub fn of(&self, number: impl TryInto<i64>) -> String {
        let number = number.try_into().unwrap_or(i64::MAX);
        fill(
            (self.template)(number),
            &[(self.variable, &number.to_string())],
        )
    }
}

impl fmt::Debug for Plural {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str((self.template)(0))
    }
}

#[cfg(test)]
mod tests {
    use crate::page;

    #[test]
    fn plural_forms_follow_the_number() {
        let words = page::table("en");
        let nights = &words.phase.nights;
        assert_eq!([nights.of(1), nights.of(4)], ["1 night", "4 nights"]);
        let released = &words.deposit.released;
        assert_eq!(released.of(0), "Released on the day you leave.");
        assert_eq!(released.of(3), "Released 3 days after you leave.");
        assert_eq!(words.deposit.due.of(1), "Due 1 day before you arrive.");
    }
}
