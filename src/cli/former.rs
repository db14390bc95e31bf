//! What options were called before version 0.1, so that who types the old name is told the new one.

/// A command, what an option of it was called, and what that is called now.
const FORMER: &[(&str, &str, &str)] = &[
    ("list", "-n", "--limit"),
    ("ls", "-n", "--limit"),
    ("search", "-n", "--limit"),
    ("list", "-a", "--all"),
    ("ls", "-a", "--all"),
    ("search", "-a", "--all"),
    ("archive", "--all", "--every"),
    ("archive", "-a", "--every"),
    ("backfill", "--all", "--every"),
    ("backfill", "-a", "--every"),
    ("trash purge", "--all", "--every"),
    ("cleanup", "--all", "--any-age"),
    ("archive", "--to", "--archive-dir"),
    ("cleanup", "--to", "--archive-dir"),
    ("restore", "--from", "--archive-dir"),
    ("list", "--from", "--archive-dir"),
    ("ls", "--from", "--archive-dir"),
    ("show", "--from", "--archive-dir"),
    ("search", "--from", "--archive-dir"),
];

/// Returns the place of the first word that is an option by a former name, that name, and what it is called now.
pub(crate) fn former(words: &[String]) -> Option<(usize, &'static str, &'static str)> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let words = &words[..end];
    let verbs: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    words.iter().enumerate().find_map(|(at, word)| {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        // The value may stand right behind the letter.
        let name = if name.starts_with("-n") { name.trim_end_matches(|c: char| c.is_ascii_digit()) } else { name };
        // What has a value is another option that happens to have the same letter.
        let has_value = || words.get(at + 1).is_some_and(|next| !next.starts_with('-'));
        let is_meant = |(verb, old, _): &&(&str, &str, &str)| {
            let is_of = verb.split(' ').all(|part| verbs.contains(&part));
            is_of && *old == name && (name != "-a" || !has_value())
        };
        FORMER.iter().find(is_meant).map(|(_, old, new)| (at, *old, *new))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_name_is_known_in_its_command_alone() {
        let new = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            former(&words).map(|(_, _, new)| new)
        };
        for (line, expected) in [
            ("archive --all", Some("--every")),
            ("trash purge --yes --all", Some("--every")),
            ("cleanup --all", Some("--any-age")),
            ("list --all", None),
            ("list -a", Some("--all")),
            ("list -a codx", None),
            ("list -n 5", Some("--limit")),
            ("ls -n5", Some("--limit")),
            ("restore x --from=/mnt", Some("--archive-dir")),
            ("resume x -- --from", None),
            ("move --from", None),
        ] {
            assert_eq!(new(line), expected, "{line}");
        }
    }
}
