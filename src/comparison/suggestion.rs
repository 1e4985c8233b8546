//! "Did you mean …": the known word that is closest to a wrong one.
//!
//! In: words. Out: one of the known ones, if it is close enough. Never here: accepting the wrong one.

/// The closest of the known words, at most a third of its letters away; the first of several.
pub fn closest<'k>(wrong: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let wrong: Vec<char> = wrong.to_lowercase().chars().take(MAX_LENGTH).collect();
    known
        .into_iter()
        .map(|word| (distance(&wrong, &word.to_lowercase().chars().collect::<Vec<_>>()), word))
        .filter(|(distance, word)| *distance <= word.chars().count().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Longer words are compared by their start.
const MAX_LENGTH: usize = 64;

/// Letters to put in, take out or change (Levenshtein), row by row.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, l) in left.iter().enumerate() {
        let mut diagonal = at;
        let mut before = at + 1;
        for (r, cell) in right.iter().zip(row.iter_mut().skip(1)) {
            let changed = diagonal + usize::from(l != r);
            diagonal = *cell;
            *cell = changed.min(before + 1).min(diagonal + 1);
            before = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or(left.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_word_is_found_and_far_ones_are_not() {
        let known = ["deployment", "service", "config"];
        for (wrong, expected) in [
            ("deploymnt", Some("deployment")),
            ("Deployment", Some("deployment")),
            ("servcie", Some("service")),
            ("confg", Some("config")),
            ("ingress", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(closest(wrong, known), expected, "{wrong}");
        }
        assert_eq!(closest("as", ["is", "at"]), Some("is"));
        assert_eq!(closest(&"x".repeat(1_000_000), known), None);
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        let of = |left: &str, right: &str| {
            distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
        };
        for (left, right, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("flaw", "lawn", 2),
            ("abc", "abc", 0),
        ] {
            assert_eq!(of(left, right), expected, "{left} {right}");
        }
    }
}
