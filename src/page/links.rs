//! Where things of the page stand: below the path of the stay, in the language that was asked for.

use uuid::Uuid;

/// The addresses of a stay's pages. They keep the language that the address asked for and the moment of a preview, and nothing
/// else.
#[derive(Debug, Clone)]
pub struct Links {
    /// The path of the stay's page, without a query.
    page: String,
    language: Option<String>,
    /// The moment that a preview is to show.
    moment: Option<String>,
}

impl Links {
    /// Those below a page, in a language where one is asked for.
    #[must_use]
    pub const fn new(page: String, language: Option<String>) -> Self {
        Self { page, language, moment: None }
    }

    /// The same at another moment.
    #[must_use]
    pub fn at_moment(self, moment: String) -> Self {
        Self { moment: Some(moment), ..self }
    }

    /// The path of the page.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.page
    }

    /// The language that the address asked for.
    #[must_use]
    pub fn language(&self) -> Option<&str> {
        self.language.as_deref()
    }

    /// The page by which a guest enters.
    #[must_use]
    pub fn home(&self) -> String {
        self.at("", &[])
    }

    /// The same, where pre-check-in was handed in just now.
    #[must_use]
    pub fn home_handed_in(&self) -> String {
        self.at("", &[("handedIn", "true")])
    }

    /// The same in another language.
    #[must_use]
    pub fn home_in(&self, language: &str) -> String {
        Self { language: Some(language.to_owned()), ..self.clone() }.home()
    }

    /// A step, which is also where its form goes.
    #[must_use]
    pub fn step(&self, step: Uuid) -> String {
        self.at(&format!("/steps/{step}"), &[])
    }

    /// A step, with what it lacks pointed out.
    #[must_use]
    pub fn step_lacking(&self, step: Uuid) -> String {
        self.at(&format!("/steps/{step}"), &[("lacking", "true")])
    }

    /// A step of guests, with so many of them to fill in.
    #[must_use]
    pub fn step_of(&self, step: Uuid, guests: usize) -> String {
        self.at(&format!("/steps/{step}"), &[("guests", &guests.to_string())])
    }

    /// Where the files of a step go.
    #[must_use]
    pub fn files(&self, step: Uuid) -> String {
        self.at(&format!("/steps/{step}/files"), &[])
    }

    /// Where a file is looked at.
    #[must_use]
    pub fn file(&self, step: Uuid, file: Uuid) -> String {
        format!("{}/steps/{step}/files/{file}", self.page)
    }

    /// What takes a file out again.
    #[must_use]
    pub fn remove(&self, step: Uuid, file: Uuid) -> String {
        self.at(&format!("/steps/{step}/files/{file}/remove"), &[])
    }

    /// The answers before they are submitted.
    #[must_use]
    pub fn review(&self) -> String {
        self.at("/review", &[])
    }

    /// What submits them.
    #[must_use]
    pub fn submit(&self) -> String {
        self.at("/submit", &[])
    }

    /// The messages, which is also where a new one goes.
    #[must_use]
    pub fn messages(&self) -> String {
        self.at("/messages", &[])
    }

    /// The messages, for what is broken.
    #[must_use]
    pub fn issue(&self) -> String {
        self.at("/messages", &[("about", "issue")])
    }

    /// A manual by itself.
    #[must_use]
    pub fn manual(&self, manual: Uuid) -> String {
        self.at(&format!("/manuals/{manual}"), &[])
    }

    /// The stay as an event of a calendar.
    #[must_use]
    pub fn calendar(&self) -> String {
        self.at("/stay.ics", &[])
    }

    /// The stay as a pass for a wallet.
    #[must_use]
    pub fn pass(&self) -> String {
        self.at("/stay.pkpass", &[])
    }

    /// What a phone makes an application of.
    #[must_use]
    pub fn manifest(&self) -> String {
        self.at("/manifest.webmanifest", &[])
    }

    /// What keeps the page for when there is no connection.
    #[must_use]
    pub fn worker(&self) -> String {
        format!("{}/worker.js", self.page)
    }

    fn at(&self, rest: &str, more: &[(&str, &str)]) -> String {
        let language = self.language.iter().map(|language| ("language", language.as_str()));
        let moment = self.moment.iter().map(|moment| ("at", moment.as_str()));
        let pairs: Vec<(&str, &str)> = language.chain(moment).chain(more.iter().copied()).collect();
        format!("{}{rest}{}", self.page, query(&pairs))
    }
}

fn query(pairs: &[(&str, &str)]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    format!("?{}", form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_stays_in_the_links() {
        let (id, page) = (Uuid::from_u128(1), "/guests/stay/abc".to_owned());
        let plain = Links::new(page.clone(), None);
        assert_eq!(plain.home(), "/guests/stay/abc");
        assert_eq!(plain.step_lacking(id), format!("/guests/stay/abc/steps/{id}?lacking=true"));
        let spanish = Links::new(page, Some("pt-BR".into()));
        assert_eq!(spanish.step_of(id, 2), format!("/guests/stay/abc/steps/{id}?language=pt-BR&guests=2"));
        assert_eq!(spanish.submit(), "/guests/stay/abc/submit?language=pt-BR");
        assert_eq!(spanish.worker(), "/guests/stay/abc/worker.js");
        assert_eq!(spanish.home_in("fr"), "/guests/stay/abc?language=fr");
        let later = spanish.at_moment("2026-11-23T15:00".into());
        assert_eq!(later.home_in("fr"), "/guests/stay/abc?language=fr&at=2026-11-23T15%3A00");
    }
}
