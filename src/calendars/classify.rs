//! Tells bookings from closures by the texts of an event (rules: calendar-feeds#classification).
//!
//! Booking sites write few words into their calendars, and some write the same words for both.
//! Where the words may mean either, a person decides.

use engine::fold::fold;

/// The meaning of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A booking, with the guest's name where the texts have it.
    Booking(Option<String>),
    /// Days that cannot be booked.
    Closure,
    /// Either of both.
    Unclear,
}

/// Words that mark a booking, folded.
const BOOKED: [&str; 23] = [
    "reserved",
    "reservation",
    "reservations",
    "booked",
    "booking",
    "bookings",
    "reservado",
    "reservada",
    "reserva",
    "reserve",
    "reservee",
    "reserviert",
    "reservierung",
    "gebucht",
    "buchung",
    "prenotato",
    "prenotazione",
    "gereserveerd",
    "reservering",
    "reservering bevestigd",
    "geboekt",
    "reservat",
    "occupe",
];

/// Words that mark a closure, folded.
const BLOCKED: [&str; 27] = [
    "not available",
    "unavailable",
    "blocked",
    "block",
    "blocked off",
    "no disponible",
    "non disponible",
    "indisponible",
    "non disponibile",
    "nao disponivel",
    "indisponivel",
    "nicht verfugbar",
    "niet beschikbaar",
    "bloqueado",
    "bloqueada",
    "bloque",
    "blockiert",
    "gesperrt",
    "bloccato",
    "geblokkeerd",
    "blokkade",
    "bloquejat",
    "no disponibilitat",
    "maintenance",
    "mantenimiento",
    "wartung",
    "manutenzione",
];

/// Words that say neither, folded. Some sites close the calendar for bookings of their own.
const CLOSED: [&str; 20] = [
    "closed",
    "cerrado",
    "ferme",
    "fermee",
    "geschlossen",
    "chiuso",
    "fechado",
    "gesloten",
    "tancat",
    "busy",
    "ocupado",
    "besetzt",
    "occupato",
    "hold",
    "on hold",
    "option",
    "owner",
    "tentative",
    "cleaning",
    "limpieza",
];

/// The labels before a guest's name in a description, folded.
const NAME_LABELS: [&str; 9] = [
    "guest",
    "guest name",
    "name",
    "huesped",
    "nombre",
    "voyageur",
    "nom",
    "gast",
    "ospite",
];

/// Parts of the address of a booking.
const BOOKING_PATHS: [&str; 4] = ["reservation", "booking", "/res/", "/reserva"];
/// Maximum number of characters of a name.
const LONGEST_NAME: usize = 100;
/// Maximum number of words of a name.
const MOST_WORDS: usize = 6;

/// Returns the meaning of an event.
pub(super) fn meaning(summary: &str, description: &str, url: Option<&str>) -> Meaning {
    let name = name(summary, description);
    if names_booking(description) || url.is_some_and(names_booking) || names_booking(summary) {
        return Meaning::Booking(name);
    }
    let of_summary = by_words(summary);
    let of_description = by_words(description);
    match (of_summary, of_description) {
        (Some(TextMeaning::Booked), Some(TextMeaning::Blocked))
        | (Some(TextMeaning::Blocked), Some(TextMeaning::Booked))
        | (Some(TextMeaning::Unclear), Some(TextMeaning::Blocked | TextMeaning::Unclear) | None) => {
            // The words contradict each other or are unclear. A named guest makes it a booking.
            named_in(description).map_or(Meaning::Unclear, |name| Meaning::Booking(Some(name)))
        }
        (Some(TextMeaning::Booked), _) | (_, Some(TextMeaning::Booked)) => Meaning::Booking(name),
        (Some(TextMeaning::Blocked), _) => match named_in(description) {
            Some(_) => Meaning::Unclear,
            None => Meaning::Closure,
        },
        (None, _) if name.is_some() => Meaning::Booking(name),
        (None, Some(TextMeaning::Blocked)) => Meaning::Closure,
        (None, Some(TextMeaning::Unclear) | None) => Meaning::Unclear,
    }
}

/// The meaning of the words of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextMeaning {
    Booked,
    Blocked,
    Unclear,
}

/// Returns the meaning of the words of a text; `None` where it has no known word.
fn by_words(text: &str) -> Option<TextMeaning> {
    let words = spaced(text);
    let has = |known: &[&str]| {
        known
            .iter()
            .any(|word| words.contains(&format!(" {word} ")))
    };
    let (is_booked, is_blocked) = (has(&BOOKED), has(&BLOCKED));
    if has(&CLOSED) || (is_booked && is_blocked) {
        Some(TextMeaning::Unclear)
    } else if is_booked {
        Some(TextMeaning::Booked)
    } else if is_blocked {
        Some(TextMeaning::Blocked)
    } else {
        None
    }
}

/// Returns the words of a text, folded, each between blanks.
fn spaced(text: &str) -> String {
    let words = fold(text).replace(|letter: char| !letter.is_alphanumeric(), " ");
    format!(" {} ", fold(&words))
}

/// Returns whether a text has the address of a booking. The host is not looked at, because it is
/// the same for closures.
fn names_booking(text: &str) -> bool {
    let addresses = text
        .match_indices("://")
        .map(|(place, _)| &text[place + 3..]);
    addresses.into_iter().any(|rest| {
        let address = rest.split_whitespace().next().unwrap_or_default();
        let path = address.find('/').map_or("", |place| &address[place..]);
        let path = path.to_ascii_lowercase();
        BOOKING_PATHS.iter().any(|part| path.contains(part))
    })
}

/// Returns the name of a guest, from the summary or from a line of the description.
fn name(summary: &str, description: &str) -> Option<String> {
    let rest = summary
        .split_once(" - ")
        .or_else(|| summary.split_once(": "))
        .filter(|(first, _)| by_words(first) == Some(TextMeaning::Booked))
        .map(|(_, rest)| rest);
    let after = rest.and_then(|rest| person(rest, 1));
    after
        .or_else(|| named_in(description))
        .or_else(|| person(summary, 2))
}

/// Returns the name that a line of a description gives, such as `Guest: Ada Lovelace`.
fn named_in(description: &str) -> Option<String> {
    description.lines().find_map(|line| {
        let (label, rest) = line.split_once(':')?;
        let label = spaced(label);
        let is_label = NAME_LABELS.iter().any(|known| label.trim() == *known);
        person(rest, 1).filter(|_| is_label)
    })
}

/// Returns a text that reads like a person's name: words of letters alone, each with a capital
/// where its script has capitals, and no word of a calendar.
fn person(text: &str, least_words: usize) -> Option<String> {
    let text = text.trim();
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_word = |word: &&str| {
        let mut letters = word.chars();
        let starts = letters.next().is_some_and(|first| {
            first.is_alphabetic() && (first.is_uppercase() || !first.is_lowercase())
        });
        starts
            && letters
                .all(|letter| letter.is_alphabetic() || matches!(letter, '-' | '\'' | '’' | '.'))
    };
    let is_name = (least_words..=MOST_WORDS).contains(&words.len())
        && text.chars().count() <= LONGEST_NAME
        && words.iter().all(is_word)
        && by_words(text).is_none();
    is_name.then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn booked(name: &str) -> Meaning {
        Meaning::Booking((!name.is_empty()).then(|| name.to_owned()))
    }

    /// The texts are those that the sites document, with invented names.
    #[test]
    fn events_of_booking_sites_are_told_apart() {
        let details = "Reservation URL: https://www.airbnb.com/hosting/reservations/details/HMABCDEFGH\nPhone Number (Last 4 Digits): 1234";
        for (summary, description, wanted) in [
            // Airbnb
            ("Reserved", details, booked("")),
            ("Airbnb (Not available)", "", Meaning::Closure),
            ("Not available", details, booked("")),
            // Booking.com
            ("CLOSED - Not available", "", Meaning::Unclear),
            (
                "CLOSED - Not available",
                "Guest name: Ada Lovelace",
                booked("Ada Lovelace"),
            ),
            // Vrbo
            ("Reserved - Ada", "", booked("Ada")),
            ("Blocked", "", Meaning::Closure),
            ("Unavailable", "", Meaning::Closure),
            // Smoobu
            ("Ada Lovelace", "", booked("Ada Lovelace")),
            ("Blocked channel", "", Meaning::Closure),
            ("Booking: José García", "", booked("José García")),
            // Google Calendar
            ("Busy", "", Meaning::Unclear),
            ("", "", Meaning::Unclear),
            ("family visit", "", Meaning::Unclear),
            ("Ada", "", Meaning::Unclear),
            ("Stay", "Guest: Ada", booked("Ada")),
            // Other languages
            ("Reservado", "", booked("")),
            ("No disponible", "", Meaning::Closure),
            ("Réservé", "", booked("")),
            ("Nicht verfügbar", "", Meaning::Closure),
            ("Fermé", "", Meaning::Unclear),
            ("王小明 先生", "", booked("王小明 先生")),
            // Both at once
            ("Reserved, not available", "", Meaning::Unclear),
            ("Not available", "Reserved", Meaning::Unclear),
        ] {
            assert_eq!(
                meaning(summary, description, None),
                wanted,
                "{summary}, {description}"
            );
        }
    }

    #[test]
    fn the_address_of_a_booking_decides() {
        let of = |url| meaning("CLOSED - Not available", "", Some(url));
        assert_eq!(of("https://app.example.com/bookings/42"), booked(""));
        assert_eq!(of("https://booking.example.com/calendar"), Meaning::Unclear);
        assert_eq!(of("bookings"), Meaning::Unclear);
    }

    #[test]
    fn words_count_only_as_whole_words() {
        assert_eq!(by_words("Blocks"), None);
        assert_eq!(by_words("(Reserved)"), Some(TextMeaning::Booked));
        assert_eq!(by_words("not  AVAILABLE!"), Some(TextMeaning::Blocked));
    }

    proptest! {
        #[test]
        fn any_text_has_a_meaning(summary: String, description: String, url: Option<String>) {
            if let Meaning::Booking(Some(name)) = meaning(&summary, &description, url.as_deref()) {
                prop_assert!(!name.trim().is_empty() && name.chars().count() <= LONGEST_NAME);
            }
        }
    }
}
