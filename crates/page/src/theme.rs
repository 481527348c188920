//! Derives the colours of the page from the branding, so that texts are readable in light mode and
//! in dark mode.
//!
//! Contrast ratios are those of WCAG 2.2: 4.5:1 for text, 3:1 for edges. The page uses each
//! background colour of the branding unchanged. The text on it is white or nearly black, whichever
//! has more contrast. One of the two always reaches 4.5:1 ([`BLACK`]).
//!
//! A colour for text or edges is mixed with black or white until it is readable on each background
//! on which the page uses it.

use std::fmt::Write as _;

use features::guest::BrandingView;

/// Minimum contrast of text (WCAG 1.4.3).
const TEXT: f64 = 4.5;

/// Minimum contrast of edges and controls (WCAG 1.4.11).
const EDGE: f64 = 3.0;

/// Contrast of the body text that replaces an unreadable text colour of the branding. It is well
/// above [`TEXT`], the minimum contrast of text.
const BODY: f64 = 9.0;

const WHITE: Rgb = Rgb([0xff; 3]);

/// A colour that is nearly black. Every colour has a contrast of at least 4.5:1 either to this
/// colour or to white, because the product of the two ratios is 20.4.
const BLACK: Rgb = Rgb([0x05; 3]);

/// The page background in dark mode.
const NIGHT: Rgb = Rgb([0x12, 0x14, 0x18]);

/// Number of steps in which an unreadable colour is mixed with more and more black or white. The
/// page uses the first mixture that is readable.
const STEPS: u8 = 40;

/// An sRGB colour, as red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rgb([u8; 3]);

impl Rgb {
    /// Parses a colour in the form `#rrggbb`.
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| {
            digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        })?;
        let number = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
        Some(Self([number[1], number[2], number[3]]))
    }

    /// Returns the relative luminance of this colour (WCAG), from 0 for black to 1 for white.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Returns the contrast ratio of two colours from 1 to 21 (WCAG).
    fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance() + 0.05, other.luminance() + 0.05);
        one.max(other) / one.min(other)
    }

    /// Mixes this colour with another one. `other` has the share `parts / of` in the mixture, such
    /// as 3/4.
    fn mixed(self, other: Self, parts: u8, of: u8) -> Self {
        let (parts, of) = (u16::from(parts.min(of)), u16::from(of));
        let mut mixed = self.0;
        for (own, other) in mixed.iter_mut().zip(other.0) {
            let sum = u16::from(*own) * (of - parts) + u16::from(other) * parts;
            *own = u8::try_from((sum + of / 2) / of).unwrap_or(u8::MAX);
        }
        Self(mixed)
    }

    /// Returns the text colour with the higher contrast to this background colour: white or nearly
    /// black.
    fn text_colour(self) -> Self {
        if self.contrast(WHITE) >= self.contrast(BLACK) {
            WHITE
        } else {
            BLACK
        }
    }

    /// Returns whether the colour has at least the contrast `ratio` to both backgrounds in
    /// `grounds`.
    fn stands_out(self, grounds: [Self; 2], ratio: f64) -> bool {
        grounds.iter().all(|ground| self.contrast(*ground) >= ratio)
    }

    /// Returns this colour if it has at least the contrast `ratio` to both backgrounds. Otherwise
    /// mixes it with more and more of `pole`, which is white or nearly black, and returns the first
    /// mixture with that contrast. If there is no such mixture, returns `pole`.
    fn moved(self, grounds: [Self; 2], pole: Self, ratio: f64) -> Self {
        let steps = (0..=STEPS).map(|step| self.mixed(pole, step, STEPS));
        steps
            .into_iter()
            .find(|colour| colour.stands_out(grounds, ratio))
            .unwrap_or(pole)
    }
}

impl std::fmt::Display for Rgb {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [red, green, blue] = self.0;
        write!(to, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Returns the contrast ratio of `colour` and the background `ground` (WCAG). The second value is
/// the text colour for this background: white or nearly black, whichever is readable on it. Returns
/// `None` if one of the arguments is not a colour.
#[must_use]
pub fn contrast(colour: &str, ground: &str) -> Option<(f64, String)> {
    let (colour, ground) = (Rgb::parse(colour)?, Rgb::parse(ground)?);
    Some((colour.contrast(ground), ground.text_colour().to_string()))
}

/// The five colours that a host chooses in a branding.
#[derive(Debug, Clone, Copy)]
struct Colours {
    text: Rgb,
    primary: Rgb,
    secondary: Rgb,
    background: Rgb,
    footer: Rgb,
}

/// The colours of a page without a branding.
const PLAIN: Colours = Colours {
    text: Rgb([0x1a; 3]),
    primary: Rgb([0x25, 0x63, 0xeb]),
    secondary: Rgb([0x64, 0x74, 0x8b]),
    background: WHITE,
    footer: Rgb([0xf8, 0xfa, 0xfc]),
};

impl Colours {
    fn of(branding: Option<&BrandingView>) -> Self {
        let Some(branding) = branding else {
            return PLAIN;
        };
        let read = |text: &str, plain| Rgb::parse(text).unwrap_or(plain);
        Self {
            text: read(&branding.text_color, PLAIN.text),
            primary: read(&branding.primary_color, PLAIN.primary),
            secondary: read(&branding.secondary_color, PLAIN.secondary),
            background: read(
                branding.background_color.as_deref().unwrap_or_default(),
                PLAIN.background,
            ),
            footer: read(&branding.footer_color, PLAIN.footer),
        }
    }

    /// Returns the colours for dark mode. Each light background becomes a dark colour that contains
    /// a little of the light colour. A dark background does not change.
    fn by_night(self) -> Self {
        let darkened = |colour: Rgb| {
            if colour.text_colour() == WHITE {
                colour
            } else {
                NIGHT.mixed(colour, 1, 16)
            }
        };
        let background = if self.background == WHITE {
            NIGHT
        } else {
            darkened(self.background)
        };
        Self {
            background,
            footer: darkened(self.footer),
            ..self
        }
    }
}

/// The colours of the page. Each text colour is readable on the backgrounds on which the page uses
/// it.
#[derive(Debug, Clone, Copy)]
struct Palette {
    /// Background of the page.
    ground: Rgb,
    /// Background of a section.
    card: Rgb,
    /// Colour of text on the page and in sections.
    text: Rgb,
    /// Colour of less important text on the page and in sections.
    quiet: Rgb,
    /// Colour of the borders of fields and sections.
    edge: Rgb,
    /// Background of the band at the top of the page, and of the page's main buttons.
    brand: Rgb,
    on_brand: Rgb,
    /// Colour of links, marks and the borders of buttons, on the page and in sections.
    link: Rgb,
    /// Background of the section that shows the special offer.
    accent: Rgb,
    on_accent: Rgb,
    /// Background of the footer.
    footer: Rgb,
    on_footer: Rgb,
}

impl Palette {
    fn of(colours: Colours) -> Self {
        let Colours {
            text,
            primary,
            secondary,
            background: ground,
            footer,
        } = colours;
        let text_colour = ground.text_colour();
        // The background of a section is a little lighter than the background of the page. If text
        // would be unreadable on the lighter colour, a section has the background of the page.
        let lighter = if text_colour == BLACK {
            ground.mixed(WHITE, 3, 4)
        } else {
            ground.mixed(WHITE, 1, 16)
        };
        let card = if lighter.contrast(text_colour) >= TEXT {
            lighter
        } else {
            ground
        };
        let grounds = [ground, card];
        let text = if text.stands_out(grounds, TEXT) {
            text
        } else {
            text.moved(grounds, text_colour, BODY)
        };
        Self {
            ground,
            card,
            text,
            quiet: text.mixed(ground, 3, 10).moved(grounds, text_colour, TEXT),
            edge: text.mixed(ground, 6, 10).moved(grounds, text_colour, EDGE),
            brand: primary,
            on_brand: primary.text_colour(),
            link: primary.moved(grounds, text_colour, TEXT),
            accent: secondary,
            on_accent: secondary.text_colour(),
            footer,
            on_footer: footer.text_colour(),
        }
    }

    /// Returns the CSS custom properties of the palette.
    fn properties(&self) -> [(&'static str, Rgb); 12] {
        [
            ("ground", self.ground),
            ("card", self.card),
            ("text", self.text),
            ("quiet", self.quiet),
            ("edge", self.edge),
            ("brand", self.brand),
            ("on-brand", self.on_brand),
            ("link", self.link),
            ("accent", self.accent),
            ("on-accent", self.on_accent),
            ("footer", self.footer),
            ("on-footer", self.on_footer),
        ]
    }

    /// Returns the CSS rule that sets the custom properties. The rule also sets `color-scheme`, so
    /// that the browser draws its controls in light or dark colours as well.
    fn rule(&self) -> String {
        let scheme = if self.ground.text_colour() == BLACK {
            "light"
        } else {
            "dark"
        };
        let mut rule = format!(":root{{color-scheme:{scheme}");
        for (name, colour) in self.properties() {
            // Writing to a string cannot fail.
            let _ = write!(rule, ";--{name}:{colour}");
        }
        rule + "}"
    }
}

/// Returns the page's colours as CSS custom properties: `--ground`, `--card`, `--text`, `--quiet`,
/// `--edge`, `--brand`, `--on-brand`, `--link`, `--accent`, `--on-accent`, `--footer`,
/// `--on-footer`. The names are constants and the values are formatted from numbers. So no text of
/// a branding gets into the style.
#[must_use]
pub fn css(branding: Option<&BrandingView>) -> String {
    let colours = Colours::of(branding);
    let (day, night) = (Palette::of(colours), Palette::of(colours.by_night()));
    format!(
        "{}@media (prefers-color-scheme:dark){{{}}}",
        day.rule(),
        night.rule()
    )
}

/// Returns the brand colour and the text colour that is readable on it, as `#rrggbb`. The web
/// manifest uses them.
#[must_use]
pub fn brand(branding: Option<&BrandingView>) -> (String, String) {
    let primary = Colours::of(branding).primary;
    (primary.to_string(), primary.text_colour().to_string())
}

/// Returns the brand colour and the text colour that is readable on it, each as red, green and
/// blue.
#[must_use]
pub fn brand_parts(branding: Option<&BrandingView>) -> [[u8; 3]; 2] {
    let primary = Colours::of(branding).primary;
    [primary.0, primary.text_colour().0]
}

/// Returns the page background in light mode as `#rrggbb`.
#[must_use]
pub fn ground(branding: Option<&BrandingView>) -> String {
    Colours::of(branding).background.to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn colour() -> impl Strategy<Value = Rgb> {
        any::<[u8; 3]>().prop_map(Rgb)
    }

    /// Generates five random colours, many of them grey. Greys are the hardest case, because two
    /// greys can only contrast by their lightness.
    fn colours() -> impl Strategy<Value = Colours> {
        let grey = any::<u8>().prop_map(|part| Rgb([part; 3]));
        let any = prop_oneof![colour(), grey].boxed();
        (any.clone(), any.clone(), any.clone(), any.clone(), any).prop_map(
            |(text, primary, secondary, background, footer)| Colours {
                text,
                primary,
                secondary,
                background,
                footer,
            },
        )
    }

    fn is_readable(palette: &Palette) -> Result<(), TestCaseError> {
        for ground in [palette.ground, palette.card] {
            for text in [palette.text, palette.quiet, palette.link] {
                prop_assert!(
                    text.contrast(ground) >= TEXT,
                    "{text} on {ground} of {palette:?}"
                );
            }
            prop_assert!(
                palette.edge.contrast(ground) >= EDGE,
                "{} on {ground} of {palette:?}",
                palette.edge
            );
        }
        let pairs = [
            (palette.on_brand, palette.brand),
            (palette.on_accent, palette.accent),
            (palette.on_footer, palette.footer),
        ];
        for (text, ground) in pairs {
            prop_assert!(text.contrast(ground) >= TEXT, "{text} on {ground}");
        }
        Ok(())
    }

    #[test]
    fn text_is_readable_on_every_grey() {
        for part in 0..=255 {
            let grey = Rgb([part; 3]);
            assert!(grey.text_colour().contrast(grey) >= TEXT, "{grey}");
        }
    }

    #[test]
    fn contrast_ratios_agree_with_wcag() {
        let ratio = |one: &str, other: &str| {
            (Rgb::parse(one)
                .unwrap()
                .contrast(Rgb::parse(other).unwrap())
                * 100.0)
                .round()
                / 100.0
        };
        assert!((ratio("#000000", "#ffffff") - 21.0).abs() < 0.001);
        assert!((ratio("#767676", "#ffffff") - 4.54).abs() < 0.001);
        assert!((ratio("#ff0000", "#ffffff") - 4.0).abs() < 0.001);
    }

    #[test]
    fn readable_colours_are_kept() {
        let palette = Palette::of(PLAIN);
        assert_eq!(
            (palette.text, palette.link, palette.card),
            (PLAIN.text, PLAIN.primary, WHITE)
        );
        assert_eq!(palette.on_brand, WHITE);
    }

    #[test]
    fn invalid_colours_are_ignored() {
        for text in [
            "", "#fff", "red", "#12345g", "#1234567", "}body{}", "#+12345",
        ] {
            assert_eq!(Rgb::parse(text), None, "{text}");
        }
        assert_eq!(Rgb::parse("#0aF1b2").unwrap().to_string(), "#0af1b2");
        assert!(css(None).starts_with(
            ":root{color-scheme:light;--ground:#ffffff;--card:#ffffff;--text:#1a1a1a;"
        ));
        assert!(css(None).contains(
            "@media (prefers-color-scheme:dark){:root{color-scheme:dark;--ground:#121418;"
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_branding_is_readable_in_light_and_dark_mode(colours in colours()) {
            is_readable(&Palette::of(colours))?;
            let night = Palette::of(colours.by_night());
            is_readable(&night)?;
            prop_assert_eq!(night.ground.text_colour(), WHITE, "the night is dark");
        }

        #[test]
        fn brand_colours_are_kept_where_text_is_readable(colours in colours()) {
            let palette = Palette::of(colours);
            prop_assert_eq!(
                (palette.brand, palette.accent, palette.footer),
                (colours.primary, colours.secondary, colours.footer)
            );
            if colours
                .primary
                .stands_out([palette.ground, palette.card], TEXT)
            {
                prop_assert_eq!(palette.link, colours.primary);
            }
        }
    }
}
