//! The same JSON in another order.
//!
//! In: a value and a seed. Out: JSON text whose maps are in an order that the seed decides. Lists keep theirs, since it
//! means something. Equal seeds give equal texts.

use serde_json::Value;

/// A source of orders: splitmix64 (Steele, Lea and Flood 2014), small and well mixed from any seed.
pub(super) struct Order(u64);

impl Order {
    /// Orders that differ from those of other seeds.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Puts items into the next order (Fisher-Yates).
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let bound = u64::try_from(end + 1).unwrap_or(u64::MAX);
            let other = usize::try_from(self.next() % bound).unwrap_or_default();
            items.swap(end, other);
        }
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// JSON text with every map in another order.
pub(super) fn text(value: &Value, order: &mut Order) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            order.shuffle(&mut entries);
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), text(value, order)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| text(item, order)).collect();
            format!("[{}]", items.join(","))
        }
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_value_stays_the_same_and_the_text_does_not() {
        let value = json!({"a": [1, {"x": 1, "y\"": 2, "z": 3}], "b": null, "c": "é", "d": 4});
        let texts: std::collections::BTreeSet<String> =
            (0..100).map(|seed| text(&value, &mut Order::new(seed))).collect();
        assert!(texts.len() > 30, "only {} different orders", texts.len());
        for text in texts {
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}
