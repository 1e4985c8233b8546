//! Values that are made once, when their Secret is created, and read back from it ever after.
//!
//! In: what exists of a Secret, randomness that came with the request. Out: values by name. Pure: without randomness (offline)
//! a placeholder stands for each value. Never here: a value in a message.

use super::{Setting, place_name};
use crate::fetch::{Live, Observed};
use crate::marks::annotation;
use crate::problem::Problem;
use crate::rule::{Characters, ChildRule, Generate, WhenGone};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

/// The values of a child at the items around, and whether they were lost: they were made once, but their Secret is gone.
pub(super) struct Generated {
    pub(super) values: Map<String, Value>,
    pub(super) lost: bool,
}

/// Reads the values back, or makes them.
pub(super) fn values(
    child: &ChildRule,
    items: &[String],
    observed: &Observed,
    setting: &Setting<'_>,
) -> Generated {
    let is_it = |live: &&Live| {
        live.mark.as_ref().is_some_and(|mark| *mark.child == *child.id && mark.items == items)
    };
    let holds = child.policies.when_gone == WhenGone::Hold;
    let place = place_name(&child.id, items);
    let lost = holds && was_made(&observed.parent, &place);
    if child.generate.is_empty() && !lost {
        // Nearly every child: it is not looked for among a thousand others.
        return Generated { values: Map::new(), lost: false };
    }
    let live = observed.children.values().find(is_it);
    let value = |(name, generate): (&String, &Generate)| {
        let kept = live.and_then(|live| kept(live.value(), name));
        let made = || made(&format!("{place} {name}"), name, *generate, setting.randomness);
        (name.clone(), Value::from(kept.unwrap_or_else(made)))
    };
    let values = child.generate.iter().map(value).collect();
    Generated { values, lost: lost && live.is_none() }
}

/// The children whose values were made, as the parent remembers them.
pub(crate) fn remembered(parent: &Live) -> Vec<String> {
    let text = parent.stored.annotation(annotation::GENERATED).unwrap_or_default();
    text.split(',').filter(|place| !place.is_empty()).map(str::to_owned).collect()
}

fn was_made(parent: &Live, place: &str) -> bool {
    remembered(parent).iter().any(|made| made == place)
}

fn kept(secret: &Value, name: &str) -> Option<String> {
    let text = secret.get("data")?.get(name)?.as_str()?;
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

/// Puts the values where they are read back from.
pub(super) fn keep(object: &mut Value, values: &Map<String, Value>) -> Result<(), Problem> {
    if values.is_empty() {
        return Ok(());
    }
    if !object["data"].is_object() {
        object["data"] = json!({});
    }
    for (name, value) in values {
        let encoded = json!(STANDARD.encode(value.as_str().unwrap_or_default()));
        let place = &mut object["data"][name.as_str()];
        if !place.is_null() && *place != encoded {
            let message = format!("`data.{name}` is where the generated value itself is kept");
            let hint = "put what is made of it under another key";
            return Err(Problem::new("generated-key", message).hint(hint));
        }
        *place = encoded;
    }
    Ok(())
}

/// Hashes of the randomness, each byte of which gives a character or, where that would favour some, nothing.
fn made(label: &str, name: &str, generate: Generate, randomness: Option<&[u8; 32]>) -> String {
    let alphabet: &[u8] = match generate.characters {
        Characters::Alphanumeric => {
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        }
        Characters::Hex => b"0123456789abcdef",
        Characters::Digits => b"0123456789",
    };
    let Some(randomness) = randomness else {
        return format!("generated-{name}-").chars().cycle().take(generate.length).collect();
    };
    let fair = 256 - 256 % alphabet.len();
    let block = |counter: u64| {
        let seed = [randomness.as_slice(), label.as_bytes(), &counter.to_be_bytes()].concat();
        digest(&SHA256, &seed).as_ref().to_vec()
    };
    let bytes = (0..).flat_map(block).map(usize::from).filter(|byte| *byte < fair);
    bytes.take(generate.length).map(|byte| char::from(alphabet[byte % alphabet.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_length_and_characters_and_depend_on_everything() {
        let seed = [7; 32];
        let of = |label: &str, characters, seed| {
            made(label, "x", Generate { length: 500, characters }, Some(seed))
        };
        let hex = of("a", Characters::Hex, &seed);
        assert_eq!(hex.len(), 500);
        assert!(hex.chars().all(|c| c.is_ascii_hexdigit() && !c.is_ascii_uppercase()));
        assert!(of("a", Characters::Digits, &seed).chars().all(|c| c.is_ascii_digit()));
        let all = of("a", Characters::Alphanumeric, &seed);
        assert!(all.chars().collect::<std::collections::BTreeSet<_>>().len() > 55, "{all}");
        assert_ne!(all, of("b", Characters::Alphanumeric, &seed));
        assert_ne!(all, of("a", Characters::Alphanumeric, &[8; 32]));
        let offline = Generate { length: 20, characters: Characters::Hex };
        assert_eq!(made("a", "pin", offline, None), "generated-pin-genera");
    }

    #[test]
    fn a_value_is_read_back_from_where_it_was_kept_and_nothing_else_may_be_there() {
        let mut secret = json!({});
        let values = json!({"pin": "1234"}).as_object().cloned().unwrap();
        keep(&mut secret, &values).unwrap();
        assert_eq!(kept(&secret, "pin").as_deref(), Some("1234"));
        assert!(keep(&mut secret, &values).is_ok());
        let other = json!({"pin": "5678"}).as_object().cloned().unwrap();
        assert_eq!(keep(&mut secret, &other).unwrap_err().code, "generated-key");
    }
}
