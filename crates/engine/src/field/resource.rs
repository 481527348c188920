//! The declaration of a resource, and the sections of the console's form for it.

use schemars::Schema;
use serde_json::Value;

/// Declares the structs of a resource. Each field is declared once.
///
/// The first struct is the stored resource. `name: type = value` declares a field that is stored
/// and returned. `value` is its default in a new resource, and in a resource that was stored by a
/// version without the field. If clients can write the field, `sent as` and the field's type in
/// requests follow. The field's description for clients is directly before `sent as`. A field with
/// `by hand` is not copied by [`StoredAs`](crate::field::StoredAs); the operation sets it.
///
/// `answered as` declares a struct for responses that have fewer fields than the stored resource.
/// Its fields are those of the stored resource with the mark `answered`, in order. The attributes
/// after `answered` apply to the field of the response. `and as` adds a copy of the field under a
/// second name. Without `answered as`, responses contain the stored struct.
///
/// The second struct is the request body. It distinguishes a field with null from a missing field.
/// A field that is declared in this struct itself can be sent, but is not stored under the same
/// name.
///
/// The structs after the request body are nested in the stored struct. In a request, their fields
/// are at the top level.
///
/// `in contact` puts a sent field into the section `contact` of the console's form for the
/// resource. The fields of a section are in the order of their declaration, except those that are
/// `in contact after` or `in contact before` another field of the section ([`FormField`]).
#[macro_export]
macro_rules! resource {
    (
        $(#[$stored_meta:meta])*
        pub struct $stored:ident {
            $(
                $(#[$meta:meta])*
                $name:ident: $type:ty = $new:expr
                $(
                    , answered $(#[$answered_meta:meta])*
                    $(and as $(#[$copy_meta:meta])* $copy:ident)?
                )?
                $(
                    , $(#[$sent_meta:meta])* sent as $sent:ty $(, by $hand:ident)?
                    $(, in $section:ident $(after $after:ident)? $(before $before:ident)?)?
                )?;
            )*
        }

        $(answered as $(#[$answer_meta:meta])* pub struct $answer:ident;)?

        $(#[$fields_meta:meta])*
        pub struct $fields:ident {
            $(
                $(#[$only_meta:meta])* $only:ident: $only_type:ty
                $(
                    , in $only_section:ident $(after $only_after:ident)?
                    $(before $only_before:ident)?
                )?;
            )*
        }

        $(
            $(#[$part_meta:meta])*
            pub struct $part:ident in $place:ident {
                $(
                    $(#[$inner_meta:meta])*
                    $inner:ident: $inner_type:ty = $inner_new:expr
                    $(
                        , $(#[$inner_sent_meta:meta])* sent as $inner_sent:ty
                        $(, by $inner_hand:ident)?
                        $(
                            , in $inner_section:ident $(after $inner_after:ident)?
                            $(before $inner_before:ident)?
                        )?
                    )?;
                )*
            }
        )*
    ) => {
        $crate::resource!(@stored $(#[$stored_meta])* $stored {
            $($(#[$meta])* $name: $type = $new;)*
        });
        $crate::resource!(@answer [$($(#[$answer_meta])* $answer)?] of $stored, [] [] $(
            $(#[$meta])* $name: $type
            $(, answered $(#[$answered_meta])* $(and as $(#[$copy_meta])* $copy)?)?;
        )*);
        $($crate::resource!(@stored $(#[$part_meta])* $part {
            $($(#[$inner_meta])* $inner: $inner_type = $inner_new;)*
        });)*

        #[derive(Debug, Clone, Default, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        #[schemars(transform = $fields::write_sections)]
        $(#[$fields_meta])*
        pub struct $fields {
            $($($(#[$sent_meta])* pub $name: $crate::field::Field<$sent>,)?)*
            $($(#[$only_meta])* pub $only: $crate::field::Field<$only_type>,)*
            $($($($(#[$inner_sent_meta])* pub $inner: $crate::field::Field<$inner_sent>,)?)*)*
        }

        impl $fields {
            /// Overwrites the fields that were sent, except those marked `by hand`.
            pub fn apply(self, target: &mut $stored) {
                let sent = self;
                $($($crate::resource!(@apply sent.$name as $sent, target $(, $hand)?);)?)*
                $($($($crate::resource!(
                    @apply sent.$inner as $inner_sent, target.$place $(, $inner_hand)?
                );)?)*)*
            }

            /// Writes the section and the position of each field in the console's form into the
            /// schema.
            fn write_sections(schema: &mut schemars::Schema) {
                $crate::field::write_sections(schema, &[
                    $($($($crate::resource!(
                        @section $name $section $(after $after)? $(before $before)?
                    ),)?)?)*
                    $($($crate::resource!(
                        @section $only $only_section $(after $only_after)? $(before $only_before)?
                    ),)?)*
                    $($($($($crate::resource!(
                        @section $inner $inner_section
                        $(after $inner_after)? $(before $inner_before)?
                    ),)?)?)*)*
                ]);
            }
        }
    };
    (@section $name:ident $section:ident) => {
        $crate::field::FormField {
            name: stringify!($name),
            section: stringify!($section),
            beside: None,
        }
    };
    (@section $name:ident $section:ident after $other:ident) => {
        $crate::field::FormField {
            name: stringify!($name),
            section: stringify!($section),
            beside: Some($crate::field::Beside::After(stringify!($other))),
        }
    };
    (@section $name:ident $section:ident before $other:ident) => {
        $crate::field::FormField {
            name: stringify!($name),
            section: stringify!($section),
            beside: Some($crate::field::Beside::Before(stringify!($other))),
        }
    };
    (
        @stored $(#[$struct_meta:meta])* $stored:ident {
            $($(#[$meta:meta])* $name:ident: $type:ty = $new:expr;)*
        }
    ) => {
        #[derive(
            Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(rename_all = "camelCase", default)]
        #[schemars(!default)]
        $(#[$struct_meta])*
        pub struct $stored {
            $($(#[$meta])* pub $name: $type,)*
        }

        impl Default for $stored {
            fn default() -> Self {
                Self { $($name: $new,)* }
            }
        }
    };
    (@answer [] $($rest:tt)*) => {};
    (
        @answer [$($answer:tt)+] of $stored:ident, [$($declared:tt)*] [$($read:tt)*]
        $(#[$meta:meta])* $name:ident: $type:ty,
        answered $(#[$answered_meta:meta])* $(and as $(#[$copy_meta:meta])* $copy:ident)?;
        $($rest:tt)*
    ) => {
        $crate::resource!(@answer [$($answer)+] of $stored,
            [
                $($declared)* $(#[$meta])* $(#[$answered_meta])* $name: $type,
                $($(#[$copy_meta])* $copy: $type,)?
            ]
            [$($read)* $name: $name, $($copy: $name,)?]
            $($rest)*
        );
    };
    (
        @answer [$($answer:tt)+] of $stored:ident, [$($declared:tt)*] [$($read:tt)*]
        $(#[$meta:meta])* $name:ident: $type:ty;
        $($rest:tt)*
    ) => {
        $crate::resource!(@answer [$($answer)+] of $stored, [$($declared)*] [$($read)*] $($rest)*);
    };
    (
        @answer [$(#[$answer_meta:meta])* $answer:ident] of $stored:ident,
        [$($declared:tt)*] [$($field:ident: $read:ident,)*]
    ) => {
        #[derive(Debug, serde::Serialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase")]
        $(#[$answer_meta])*
        pub struct $answer {
            $($declared)*
        }

        impl From<&$stored> for $answer {
            fn from(stored: &$stored) -> Self {
                Self { $($field: Clone::clone(&stored.$read),)* }
            }
        }
    };
    (@apply $fields:ident.$name:ident as $sent:ty, $($target:ident).+) => {
        $fields.$name.apply(&mut $($target).+.$name)
    };
    (@apply $fields:ident.$name:ident as $sent:ty, $($target:ident).+, hand) => {};
}

/// A field of the console's form for a resource, with the section of the form that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormField {
    /// Name of the field in Rust.
    pub name: &'static str,
    pub section: &'static str,
    /// The position of the field beside another field; `None` if the field follows the field that
    /// is declared before it.
    pub beside: Option<Beside>,
}

/// The position of a field in its section: directly before or after another field. The value is the
/// name of that other field in Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    After(&'static str),
    Before(&'static str),
}

/// The keyword in a field's schema whose value is the name of the section that contains the field
/// in the console's form.
pub const SECTION: &str = "x-section";
/// The keyword in a field's schema whose value is the position of the field in the console's form.
pub const PLACE: &str = "x-place";

/// Writes the section and the position of each field in the console's form into the field's schema.
/// `fields` must be in the order of declaration.
pub fn write_sections(schema: &mut Schema, fields: &[FormField]) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (position, field) in in_form_order(fields).into_iter().enumerate() {
        if let Some(Value::Object(property)) = properties.get_mut(&camel_case(field.name)) {
            property.insert(SECTION.into(), field.section.into());
            property.insert(PLACE.into(), position.into());
        }
    }
}

/// Returns the fields in the order in which the console's form shows them.
///
/// # Panics
///
/// Panics if `after` or `before` names no other field of the form. Each start of the server and
/// each test of the schemas would show this panic.
fn in_form_order(fields: &[FormField]) -> Vec<FormField> {
    let (mut placed, mut others): (Vec<FormField>, Vec<FormField>) = fields
        .iter()
        .copied()
        .partition(|field| field.beside.is_none());
    let position = |placed: &[FormField], beside: Beside| {
        let (Beside::After(other) | Beside::Before(other)) = beside;
        let position = placed.iter().position(|field| field.name == other)?;
        Some(position + usize::from(matches!(beside, Beside::After(_))))
    };
    // A field can be beside a field that this loop places later, so each pass searches all
    // remaining fields.
    while let Some((index, position)) = others
        .iter()
        .enumerate()
        .find_map(|(index, field)| Some((index, position(&placed, field.beside?)?)))
    {
        placed.insert(position, others.remove(index));
    }
    let misplaced: Vec<_> = others.iter().map(|field| field.name).collect();
    assert!(
        misplaced.is_empty(),
        "`after` or `before` names no other field: {misplaced:?}"
    );
    placed
}

/// Converts the Rust name of a field to its name in JSON: `is_active` becomes `isActive`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let initial = letters.next().map(|letter| letter.to_ascii_uppercase());
        name.chars().chain(initial).chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_follow_their_declaration_or_the_field_beside_them() {
        let field = |name, beside| FormField {
            name,
            section: "basics",
            beside,
        };
        let fields = [
            field("a", Some(Beside::After("c"))),
            field("b", None),
            field("c", Some(Beside::Before("b"))),
            field("d", None),
        ];
        let names = in_form_order(&fields).into_iter().map(|field| field.name);
        assert_eq!(names.collect::<Vec<_>>(), ["c", "a", "b", "d"]);
    }

    #[test]
    #[should_panic(expected = "names no other field: [\"name\"]")]
    fn a_field_beside_a_misspelt_name_is_refused() {
        in_form_order(&[FormField {
            name: "name",
            section: "basics",
            beside: Some(Beside::After("nmae")),
        }]);
    }

    #[test]
    fn a_schema_has_the_section_and_the_place_of_each_field() {
        let field = |name, section| FormField {
            name,
            section,
            beside: None,
        };
        let mut schema = schemars::json_schema!({
            "properties": { "isDefault": { "type": "boolean" }, "name": {}, "url": {} },
        });
        let fields = [field("name", "basics"), field("is_default", "links")];
        write_sections(&mut schema, &fields);
        let expected = json!({ "properties": {
            "isDefault": { "type": "boolean", "x-section": "links", "x-place": 1 },
            "name": { "x-section": "basics", "x-place": 0 },
            "url": {},
        } });
        assert_eq!(schema.to_value(), expected);
    }
}
