//! Collections of values that are found by their type.

use std::any::{Any, TypeId};
use std::collections::HashMap;

/// A collection with at most one value of each type.
#[derive(Default)]
pub struct Extensions(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Extensions {
    /// Adds a value. Replaces a value of the same type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
        self
    }

    /// Returns the value of the type `T`; `None` if no value of this type was added.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

/// A collection with any number of values of each type, in the order of insertion.
#[derive(Default)]
pub struct Lists(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Lists {
    /// Adds a value to the list of its type.
    pub fn add<T: Any + Send + Sync>(&mut self, item: T) {
        let list = self
            .0
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Box::new(Vec::<T>::new()));
        if let Some(list) = list.downcast_mut::<Vec<T>>() {
            list.push(item);
        }
    }

    /// Returns all values of a type, in the order in which they were added.
    #[must_use]
    pub fn all<T: Any + Send + Sync>(&self) -> &[T] {
        self.0
            .get(&TypeId::of::<T>())
            .and_then(|list| list.downcast_ref::<Vec<T>>())
            .map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_type() {
        let extensions = Extensions::default().with(1_u8).with("text").with(2_u8);
        assert_eq!(
            (
                extensions.get::<u8>(),
                extensions.get::<&str>(),
                extensions.get::<u16>()
            ),
            (Some(&2), Some(&"text"), None)
        );
        let mut lists = Lists::default();
        lists.add(1_u8);
        lists.add("text");
        lists.add(2_u8);
        assert_eq!(
            (lists.all::<u8>(), lists.all::<&str>(), lists.all::<u16>()),
            (&[1, 2][..], &["text"][..], &[][..])
        );
    }
}
