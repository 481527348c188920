//! A house manual: its fields, and the rules that involve several of them (rules: manuals).
//! `visibility.rs` decides when a guest sees a manual.

use engine::error::{Issue, Reason};
use engine::field::{Creatable, Field, HttpUrl, HttpUrlOrEmpty, Text200, Text5000, UpTo200};
use engine::moment::Moment;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::rule::{VisibilityRule, VisibilityRules};

/// Kind of content that a manual shows below its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisplayMode {
    /// The manual's description, in the guest's language.
    MultiLingualText,
    /// The value of the custom field in `customFieldId`.
    PmsVariable,
}

/// A stored manual.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Manual {
    /// The fields that responses contain.
    pub answered: WrittenManual,
    /// Whether the cover's image was created for this manual. If so, the image is deleted when
    /// another cover replaces it.
    pub owns_image: bool,
}

engine::resource! {
    /// A manual in the response of its creation or of its update.
    #[schemars(rename = "PortalManual", example = example())]
    pub struct WrittenManual {
        /// Id that the server assigns.
        id: Uuid = Uuid::nil();

        /// Internal label used for search, never shown to guests.
        nickname: String = String::new(),
        /// Internal label of the manual, 1 to 200 characters and not blank. Lists are searched and
        /// sorted by it, and guests never see it.
        sent as Text200, in basics;

        /// Whether portals show the manual; `false` hides it from every portal and keeps its
        /// assignments.
        is_active: bool = false,
        /// Whether portals show the manual where it is assigned. `false`, the default, hides it
        /// everywhere and keeps its assignments.
        sent as bool, in basics;

        /// Category under which the manual is listed.
        manual_category_id: Option<Uuid> = None,
        /// Id of the category that the manual is filed under (`listPortalManualCategories`). An
        /// unknown id is a 404. Null or left out on create: no category, so guests find the manual
        /// below all categories.
        #[schemars(extend(
            "x-choices-from" = "listPortalManualCategories",
            "x-summary" = "The category that the manual is filed under.",
        ))]
        sent as Option<Uuid>, in basics;

        /// Id of the translation of the title that guests read.
        title_id: Option<Uuid> = None,
        /// Id of a `manual` translation to use as the title. Null unlinks it, which is refused
        /// unless `displayMode` is `pms_variable`.
        #[schemars(extend("x-text-source" = "manual", "x-summary" = "The title."))]
        sent as Option<Uuid>, in content;

        /// Id of the translation of the body that guests read, in Markdown.
        description_id: Option<Uuid> = None,
        /// Id of a `manual` translation to use as the body. Null unlinks it.
        #[schemars(extend("x-text-source" = "manual", "x-summary" = "The body."))]
        sent as Option<Uuid>, in content;

        /// Kind of content that the manual shows.
        display_mode: DisplayMode = DisplayMode::MultiLingualText,
        /// What guests see below the title: `multi_lingual_text`, the default, shows the
        /// description. `pms_variable` shows the value of a custom field and needs `customFieldId`.
        sent as DisplayMode, in content;

        /// The custom field whose value is shown.
        custom_field_id: Option<Uuid> = None,
        /// Id of the custom field whose value is shown, as `listCustomFields` gives it. Required
        /// while `displayMode` is `pms_variable`, refused otherwise. To change `displayMode` to
        /// `multi_lingual_text`, also send null here.
        #[schemars(extend("x-choices-from" = "listCustomFields"))]
        sent as Option<Uuid>, in content;

        /// Address of a video that the manual shows.
        video_url: Option<String> = None,
        /// Address of a video shown with the manual, an absolute http or https URL. Null clears it.
        sent as Option<HttpUrl>, in content;

        /// Note for staff, never shown to guests.
        internal_description: Option<String> = None,
        /// Note for staff, up to 5000 characters, never shown to guests. Null clears it.
        sent as Option<Text5000>, in basics;

        /// The cover image, if any.
        image_id: Option<Uuid> = None,
        /// Id of an image record to use as the cover; an unknown id is a 404. The image replaces
        /// the icon; null removes the image. It can be sent on update only, and not together with
        /// `iconName` or `imageUrl`.
        #[schemars(extend("x-summary" = "An image record to use as the cover."))]
        sent as Option<Uuid>, by hand, in cover after image_url;

        /// Name of the cover icon, if any. An unknown name shows a blank placeholder.
        icon_name: Option<String> = None,
        /// Icon on the cover by its name, such as `wifi`, as `searchCoverIcons` finds it. An
        /// unknown name shows a blank placeholder. The icon replaces the image; null or `""`
        /// removes the icon. It cannot be sent together with an image.
        sent as Option<UpTo200>, by hand, in cover;

        /// The visibility rules. A guest sees the manual only if all of them are met. Without
        /// rules, every guest sees it.
        visibility_rules: Vec<VisibilityRule> = Vec::new(),
        /// When guests see the manual: the reservation must meet all rules. At most one rule of
        /// each category. Replaces the whole set; `[]`, the default, means always. Only the fields
        /// of a rule's category are stored.
        sent as VisibilityRules, by hand;

        /// Time of creation.
        created_at: Moment = Moment::default();

        /// Time of last change.
        updated_at: Moment = Moment::default();
    }

    /// The writable fields of a manual.
    #[schemars(rename = "PortalManual")]
    pub struct ManualFields {
        /// Title that guests read, in plain English, 1 to 200 characters. It is translated in the
        /// background. Required unless `titleId` is given or `displayMode` is `pms_variable`. If
        /// both are sent, `titleId` is ignored. It can be sent on create only.
        title: Option<Text200>;

        /// Body that guests read, in English and Markdown, up to 5000 characters. It is translated
        /// in the background. If both are sent, `descriptionId` is ignored. A blank text adds no
        /// body. It can be sent on create only.
        description: Option<Text5000>;

        /// Address of the image on the cover, an absolute http or https URL. It is stored as given
        /// and not copied. The image replaces the icon; null or `""` removes the image. It cannot
        /// be sent together with `iconName` or `imageId`.
        image_url: Option<HttpUrlOrEmpty>, in cover;

        /// Id of the one property that the new manual is assigned to. An inaccessible property is a
        /// 404. Null or left out: none, so no guest sees the manual. It can be sent on create only.
        #[schemars(extend("x-summary" = "The one property that the new manual is assigned to."))]
        property_id: Option<Uuid>;
    }
}

impl Manual {
    /// Returns a manual with this id and nickname, whose times of creation and of the last change
    /// are `now`. All other fields have their default values.
    #[must_use]
    pub fn new(id: Uuid, nickname: String, now: Moment) -> Self {
        let answered = WrittenManual {
            id,
            nickname,
            created_at: now,
            updated_at: now,
            ..WrittenManual::default()
        };
        Self {
            answered,
            owns_image: false,
        }
    }
}

impl Creatable for ManualFields {
    const REQUIRED: &'static [&'static str] = &["nickname"];
    const CREATE_ONLY: &'static [&'static str] = &["title", "description", "propertyId"];
    const UPDATE_ONLY: &'static [&'static str] = &["imageId"];
    const IS_GUARDED: bool = false;

    fn example() -> Value {
        json!({
            "nickname": "Wi-Fi",
            "title": "Wi-Fi",
            "description": "Network **Casa Azul**, password on the router.",
            "iconName": "wifi",
            "isActive": true,
            "visibilityRules": [
                {
                    "ruleCategory": "relative_date",
                    "startDateRelativeType": "before_check_in",
                    "daysBefore": 2,
                },
            ],
        })
    }
}

/// A change of an optional value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// The value does not change.
    #[default]
    Keep,
    /// The value is removed.
    Clear,
    /// The value is replaced.
    Set(T),
}

impl<T: PartialEq> Patch<T> {
    fn of<S>(field: &Field<Option<S>>, value: impl FnOnce(&S) -> Option<T>) -> Self {
        match field.sent() {
            None => Self::Keep,
            Some(new) => new.as_ref().and_then(value).map_or(Self::Clear, Self::Set),
        }
    }

    const fn sets(&self) -> bool {
        matches!(self, Self::Set(_))
    }

    /// Combines two changes of the same value. The first `Set` wins. If there is none, the first
    /// change that is not `Keep` wins.
    fn or(self, other: Self) -> Self {
        if self.sets() || other == Self::Keep {
            self
        } else {
            other
        }
    }
}

/// The change of the cover in a request (rules: manuals#covers).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoverChange {
    /// The request's change of the cover's image.
    pub image: Patch<CoverImage>,
    /// The request's change of the name of the cover's icon.
    pub icon: Patch<String>,
}

/// An image for the cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoverImage {
    /// The URL of an image. The operation that applies the change creates an image record with this
    /// URL.
    Url(String),
    /// The id of an existing image record.
    Record(Uuid),
}

impl ManualFields {
    /// Returns the change of the cover that the request asks for, or the issues of a request with
    /// more than one cover.
    pub fn cover(&self, base: &[&str]) -> Result<CoverChange, Vec<Issue>> {
        let url = Patch::of(&self.image_url, |url| {
            (!url.is_empty()).then(|| CoverImage::Url(url.0.clone()))
        });
        let record = Patch::of(&self.image_id, |id| Some(CoverImage::Record(*id)));
        let icon = Patch::of(&self.icon_name, |name| {
            (!name.is_empty()).then(|| name.0.clone())
        });
        let covers = [
            ("imageUrl", url.sets()),
            ("imageId", record.sets()),
            ("iconName", icon.sets()),
        ];
        let covers: Vec<&str> = covers
            .into_iter()
            .filter(|(_, is_set)| *is_set)
            .map(|(field, _)| field)
            .collect();
        if covers.len() > 1 {
            let issue = |field: &&str| {
                Issue::new(
                    &[base, &[*field]].concat(),
                    Reason::rule(
                        "one_cover",
                        "must be the only cover sent: a manual has an image or an icon",
                    ),
                )
            };
            return Err(covers.iter().map(issue).collect());
        }
        let image = url.or(record);
        // A new image removes the icon, and a new icon removes the image.
        Ok(match (image.sets(), icon.sets()) {
            (true, _) => CoverChange {
                image,
                icon: Patch::Clear,
            },
            (_, true) => CoverChange {
                image: Patch::Clear,
                icon,
            },
            _ => CoverChange { image, icon },
        })
    }

    /// Returns the visibility rules of the request, or the issues that concern several fields of a
    /// rule.
    pub fn rules(&self, base: &[&str]) -> Result<Option<Vec<VisibilityRule>>, Vec<Issue>> {
        self.visibility_rules
            .sent()
            .cloned()
            .map(|rules| rules.into_rules(base))
            .transpose()
    }
}

/// Checks a changed manual against the rules that involve several fields. `has_title`: the changed
/// manual has a title. `title_field`: the field that an issue about the title names.
#[must_use]
pub fn issues(
    manual: &WrittenManual,
    has_title: bool,
    title_field: &str,
    base: &[&str],
) -> Vec<Issue> {
    let issue = |field: &str, reason: Reason| Issue::new(&[base, &[field]].concat(), reason);
    let is_variable = manual.display_mode == DisplayMode::PmsVariable;
    let mut issues = Vec::new();
    if is_variable && manual.custom_field_id.is_none() {
        issues.push(issue(
            "customFieldId",
            Reason::rule(
                "needs_custom_field",
                "is required for displayMode pms_variable",
            ),
        ));
    }
    if !is_variable && manual.custom_field_id.is_some() {
        issues.push(issue(
            "customFieldId",
            Reason::rule(
                "no_custom_field",
                "must be null unless displayMode is pms_variable",
            ),
        ));
    }
    if !is_variable && !has_title {
        issues.push(issue(
            title_field,
            Reason::rule(
                "needs_title",
                "is required unless displayMode is pms_variable",
            ),
        ));
    }
    issues
}

fn example() -> WrittenManual {
    let id = Uuid::from_u128(0x0192_f0c1_2345_7abc_8def_0123_4567_89ab);
    let manual = Manual::new(
        id,
        "Wi-Fi".into(),
        Moment(Timestamp::constant(1_795_253_400, 0)),
    );
    WrittenManual {
        is_active: true,
        title_id: Some(id),
        icon_name: Some("wifi".into()),
        ..manual.answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(body: Value) -> ManualFields {
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_cover_is_an_image_or_an_icon() {
        use Patch::{Clear, Keep, Set};
        let id = Uuid::from_u128(7);
        let url = || Set(CoverImage::Url("https://a.example/1.jpg".into()));
        for (body, image, icon) in [
            (json!({}), Keep, Keep),
            (
                json!({ "imageUrl": "https://a.example/1.jpg" }),
                url(),
                Clear,
            ),
            (
                json!({ "imageUrl": "https://a.example/1.jpg", "iconName": "" }),
                url(),
                Clear,
            ),
            (
                json!({ "imageUrl": "https://a.example/1.jpg", "imageId": null }),
                url(),
                Clear,
            ),
            (json!({ "imageId": id }), Set(CoverImage::Record(id)), Clear),
            (
                json!({ "imageId": id, "imageUrl": "" }),
                Set(CoverImage::Record(id)),
                Clear,
            ),
            (json!({ "iconName": "wifi" }), Clear, Set("wifi".to_owned())),
            (
                json!({ "iconName": "wifi", "imageUrl": null }),
                Clear,
                Set("wifi".to_owned()),
            ),
            (json!({ "imageUrl": null }), Clear, Keep),
            (json!({ "imageUrl": "" }), Clear, Keep),
            (json!({ "imageId": null }), Clear, Keep),
            (json!({ "iconName": null }), Keep, Clear),
            (json!({ "iconName": "" }), Keep, Clear),
        ] {
            assert_eq!(
                fields(body.clone()).cover(&[]),
                Ok(CoverChange { image, icon }),
                "{body}"
            );
        }
        for body in [
            json!({ "imageUrl": "https://a.example/1.jpg", "iconName": "wifi" }),
            json!({ "imageUrl": "https://a.example/1.jpg", "imageId": id }),
            json!({ "imageId": id, "iconName": "wifi" }),
        ] {
            assert_eq!(
                fields(body.clone()).cover(&["data"]).unwrap_err().len(),
                2,
                "{body}"
            );
        }
    }

    #[test]
    fn a_manual_shows_either_texts_or_a_custom_field() {
        let id = Some(Uuid::from_u128(7));
        // Inputs: whether the manual shows a custom field, the custom field, whether it has a
        // title. Result: the fields with issues.
        for (is_variable, custom_field_id, has_title, expected) in [
            (false, None, true, &[][..]),
            (false, None, false, &["titleId"][..]),
            (false, id, true, &["customFieldId"][..]),
            (true, None, false, &["customFieldId"][..]),
            (true, id, false, &[][..]),
            (true, id, true, &[][..]),
        ] {
            let display_mode = if is_variable {
                DisplayMode::PmsVariable
            } else {
                DisplayMode::MultiLingualText
            };
            let manual = WrittenManual {
                display_mode,
                custom_field_id,
                ..example()
            };
            let found = issues(&manual, has_title, "titleId", &[]);
            assert_eq!(
                found
                    .iter()
                    .map(|issue| issue.path[0].clone())
                    .collect::<Vec<_>>(),
                expected
                    .iter()
                    .map(|field| (*field).into())
                    .collect::<Vec<_>>()
            );
        }
    }
}
