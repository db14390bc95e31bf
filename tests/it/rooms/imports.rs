//! Finds the uses between the modules of `src`: in `use` trees with groups, and in paths such as `super::x()` in code.
//!
//! The text is split into tokens, so paths inside of macros count, and comments and strings do not. Unit tests (modules
//! named `tests`) may use any module and are skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// One line that uses another module.
#[derive(Clone, Debug)]
pub(super) struct Import {
    /// The module that contains the line, beginning with its room.
    pub(super) from: Vec<String>,
    /// The imported module, beginning with its room.
    pub(super) to: Vec<String>,
    /// The file, the line number and the line, for the report.
    pub(super) line: String,
}

/// The longest chain of re-exports that is followed.
const MAX_REEXPORTS: usize = 16;

/// A path in the code of a module, before it is resolved.
#[derive(Debug)]
struct Mention {
    module: Vec<String>,
    path: Vec<String>,
    line: String,
}

/// The names that `use` lines bring into modules, with their paths.
type Bindings = BTreeMap<(Vec<String>, String), Vec<Vec<String>>>;

/// The modules of a source tree, and what they import.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Every module, beginning with its room; the root is `lib`.
    pub(super) modules: BTreeSet<Vec<String>>,
    pub(super) imports: Vec<Import>,
}

impl Tree {
    /// Parses the files of a source tree, given by their paths below `src`.
    pub(super) fn parse(files: &BTreeMap<PathBuf, String>) -> Self {
        let files: Vec<(&PathBuf, &String)> = files.iter().filter(|(file, _)| !is_test(file)).collect();
        let mut modules: BTreeSet<Vec<String>> = files.iter().map(|(file, _)| module(file)).collect();
        let (mut mentions, mut bindings) = (Vec::new(), Bindings::new());
        for (file, text) in files {
            Reader::new(file, text).read(&mut modules, &mut mentions, &mut bindings);
        }
        let resolver = Resolver { modules: &modules, bindings: &bindings };
        let mut imports = Vec::new();
        for Mention { module, path, line } in mentions {
            let targets = resolver.resolve(&module, &path);
            let others = targets.into_iter().filter(|to| *to != module);
            imports.extend(others.map(|to| Import { from: module.clone(), to, line: line.clone() }));
        }
        Self { modules, imports }
    }

    /// Returns the import cycles between the modules of each folder, each with one line per import in it.
    ///
    /// A module belongs to the folder that contains it: `mod.rs` and the files next to it may use each other.
    pub(super) fn cycles(&self) -> Vec<String> {
        let mut levels: BTreeMap<&[String], BTreeMap<(&str, &str), &str>> = BTreeMap::new();
        for import in &self.imports {
            let common = import.from.iter().zip(&import.to).take_while(|(from, to)| from == to).count();
            if let (Some(from), Some(to)) = (import.from.get(common), import.to.get(common)) {
                let level = levels.entry(&import.from[..common]).or_default();
                level.entry((from, to)).or_insert(&import.line);
            }
        }
        let mut cycles = Vec::new();
        for (folder, edges) in levels {
            let folder = folder.iter().fold(String::from("src"), |path, name| format!("{path}/{name}"));
            for members in components(&edges.keys().copied().collect()) {
                let inside = edges.iter().filter(|((from, to), _)| members.contains(from) && members.contains(to));
                let lines: String = inside.map(|((from, to), line)| format!("\n    {from} → {to}: {line}")).collect();
                let members = members.into_iter().collect::<Vec<_>>().join(", ");
                cycles.push(format!("{folder}: import cycle of {members}:{lines}"));
            }
        }
        cycles
    }
}

/// Returns the sets of nodes that reach each other, without those of a single node.
fn components<'a>(edges: &BTreeSet<(&'a str, &'a str)>) -> BTreeSet<BTreeSet<&'a str>> {
    let reached = |start: &'a str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(at) = open.pop() {
            let next = edges.iter().filter(|(from, _)| *from == at).map(|(_, to)| *to);
            open.extend(next.filter(|to| seen.insert(*to)));
        }
        seen
    };
    let all: BTreeMap<&str, BTreeSet<&str>> = edges.iter().map(|(from, _)| (*from, reached(from))).collect();
    let mutual = |node: &str, to: &str| all.get(to).is_some_and(|back| back.contains(node));
    let components = all.iter().map(|(node, to)| to.iter().copied().filter(|to| mutual(node, to)).collect());
    components.filter(|component: &BTreeSet<&str>| component.len() > 1).collect()
}

/// Returns whether a file is a module named `tests`, or in the folder of one.
fn is_test(file: &Path) -> bool {
    file.ends_with("tests.rs") || file.iter().any(|part| part == "tests")
}

/// Returns the module of a file of `src`, from its room on.
pub(super) fn module(file: &Path) -> Vec<String> {
    let mut parts: Vec<String> = file.with_extension("").iter().map(|part| part.to_string_lossy().into()).collect();
    if parts.last().is_some_and(|name| name == "mod") {
        parts.pop();
    }
    parts
}

/// Follows paths through modules and through the names that other modules import.
struct Resolver<'a> {
    modules: &'a BTreeSet<Vec<String>>,
    bindings: &'a Bindings,
}

impl Resolver<'_> {
    /// Returns the modules that a path uses: the one that defines its item, and each that re-exports it on the way.
    fn resolve(&self, module: &[String], path: &[String]) -> BTreeSet<Vec<String>> {
        let mut found = BTreeSet::new();
        self.follow(module, path, 0, &mut found);
        found
    }

    fn follow(&self, module: &[String], path: &[String], depth: usize, found: &mut BTreeSet<Vec<String>>) {
        let Some((first, rest)) = path.split_first().filter(|_| depth < MAX_REEXPORTS) else { return };
        match first.as_str() {
            "crate" => self.descend(&root(), rest, depth, found),
            "self" => self.descend(module, rest, depth, found),
            "super" => {
                let parent = module.split_last().map(|(_, parent)| parent.to_vec()).filter(|parent| !parent.is_empty());
                let parent = parent.unwrap_or_else(root);
                match rest.first() {
                    Some(next) if next == "super" => self.follow(&parent, rest, depth, found),
                    _ => self.descend(&parent, rest, depth, found),
                }
            }
            // Any other name is that of a crate or of a local type.
            name if self.modules.contains(&child(module, name)) || self.bound(module, name).is_some() => {
                self.descend(module, path, depth, found);
            }
            _ => {}
        }
    }

    /// Descends from a module along names of modules, items and imports.
    fn descend(&self, module: &[String], path: &[String], depth: usize, found: &mut BTreeSet<Vec<String>>) {
        let Some((first, rest)) = path.split_first() else {
            found.insert(module.to_vec());
            return;
        };
        let child = child(module, first);
        if self.modules.contains(&child) {
            return self.descend(&child, rest, depth, found);
        }
        found.insert(module.to_vec());
        for target in self.bound(module, first).into_iter().flatten() {
            let path: Vec<String> = target.iter().chain(rest).cloned().collect();
            self.follow(module, &path, depth + 1, found);
        }
    }

    fn bound(&self, module: &[String], name: &str) -> Option<&Vec<Vec<String>>> {
        self.bindings.get(&(module.to_vec(), name.to_owned()))
    }
}

fn root() -> Vec<String> {
    vec!["lib".to_owned()]
}

fn child(module: &[String], name: &str) -> Vec<String> {
    let parents = if module == ["lib"] { &[] } else { module };
    parents.iter().map(String::as_str).chain([name]).map(str::to_owned).collect()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Separator,
    Sign(char),
}

/// Splits Rust code into tokens with their line numbers, without comments, strings, characters and lifetimes.
fn tokens(text: &str) -> Vec<(Token, usize)> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let word_len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_len);
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment_len(rest)
        } else if first == '"' {
            string_len(rest)
        } else if matches!(word, "r" | "br" | "cr") && raw_string_len(after).is_some() {
            word_len + raw_string_len(after).unwrap_or_default()
        } else if matches!(word, "b" | "c") && after.starts_with('"') {
            word_len + string_len(after)
        } else if first == '\'' {
            quote_len(rest)
        } else if word == "r" && after.starts_with('#') {
            // A raw identifier: its name is the next token.
            2
        } else {
            0
        };
        if skipped > 0 {
            line += rest[..skipped].matches('\n').count();
            rest = &rest[skipped..];
        } else if word_len > 0 {
            tokens.push((Token::Word(word.to_owned()), line));
            rest = after;
        } else if let Some(after) = rest.strip_prefix("::") {
            tokens.push((Token::Separator, line));
            rest = after;
        } else {
            if !first.is_whitespace() {
                tokens.push((Token::Sign(first), line));
            }
            line += usize::from(first == '\n');
            rest = &rest[first.len_utf8()..];
        }
    }
    tokens
}

fn block_comment_len(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                break;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

fn string_len(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Returns the length of a raw string after its `r`, with its hash signs; `None` if it is not one.
fn raw_string_len(text: &str) -> Option<usize> {
    let hashes = text.find(|c| c != '#')?;
    let contents = text[hashes..].strip_prefix('"')?;
    let end = contents.find(&format!("\"{}", "#".repeat(hashes)))?;
    Some(hashes + 1 + end + 1 + hashes)
}

/// Returns the length of a character in quotes, or of the quote of a lifetime.
fn quote_len(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next(), chars.next()) {
        (Some((_, '\\')), Some((escaped, _)), _) => {
            let after = escaped + text[escaped..].chars().next().map_or(0, char::len_utf8);
            text[after..].find('\'').map_or(text.len(), |end| after + end + 1)
        }
        (Some(_), Some((end, '\'')), _) => end + 1,
        _ => 1,
    }
}

/// One leaf of a `use` tree, with the line that it is on.
struct Name {
    /// Codex: one rollout per session, in either format, plain or compressed, active or archived.
    name: Option<String>,
    path: Vec<String>,
    line: String,
}

/// Reads the tokens of one file.
struct Reader<'a> {
    file: &'a Path,
    lines: Vec<&'a str>,
    tokens: Vec<(Token, usize)>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(file: &'a Path, text: &'a str) -> Self {
        Self { file, lines: text.lines().collect(), tokens: tokens(text), at: 0 }
    }

    fn token(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead).map(|(token, _)| token)
    }

    fn word(&self, ahead: usize) -> Option<&str> {
        match self.token(ahead) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn is(&self, ahead: usize, sign: char) -> bool {
        self.token(ahead) == Some(&Token::Sign(sign))
    }

    /// Skips a group of brackets, from its opening bracket on.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while let Some(token) = self.token(0) {
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    fn line(&self) -> String {
        let number = self.tokens.get(self.at).map_or(0, |(_, line)| *line);
        let text = self.lines.get(number.saturating_sub(1)).map_or("", |line| line.trim());
        format!("src/{}:{number}: {text}", self.file.display())
    }

    /// Collects the inline modules and the paths of the file, and the names that its `use` lines bring into each module.
    fn read(mut self, modules: &mut BTreeSet<Vec<String>>, mentions: &mut Vec<Mention>, bindings: &mut Bindings) {
        let mut module = module(self.file);
        // The depth of braces, and the depths at which the bodies of inline modules begin.
        let (mut depth, mut bodies) = (0_usize, Vec::new());
        while let Some(token) = self.token(0) {
            match token {
                Token::Sign('{') => depth += 1,
                Token::Sign('}') => {
                    depth = depth.saturating_sub(1);
                    if bodies.last() == Some(&depth) {
                        bodies.pop();
                        module.pop();
                    }
                }
                Token::Word(word) if word == "mod" && self.is(2, '{') => {
                    let name = self.word(1).unwrap_or_default().to_owned();
                    self.at += 2;
                    if name == "tests" {
                        self.skip_group();
                    } else {
                        module = child(&module, &name);
                        modules.insert(module.clone());
                        bodies.push(depth);
                    }
                    continue;
                }
                // A visibility names only modules that contain this one.
                Token::Word(word) if word == "pub" && self.is(1, '(') => {
                    self.at += 1;
                    self.skip_group();
                    continue;
                }
                Token::Word(word) if word == "use" && !self.is(1, '<') => {
                    self.at += 1;
                    let is_item = bodies.last().map_or(depth == 0, |body| depth == body + 1);
                    let mut names = Vec::new();
                    self.read_use(&[], &mut names);
                    for Name { name, path, line } in names {
                        if let (true, Some(name)) = (is_item, name) {
                            bindings.entry((module.clone(), name)).or_default().push(path.clone());
                        }
                        mentions.push(Mention { module: module.clone(), path, line });
                    }
                    continue;
                }
                Token::Word(_) if self.token(1) == Some(&Token::Separator) => {
                    let line = self.line();
                    let path = self.read_path();
                    mentions.push(Mention { module: module.clone(), path, line });
                    continue;
                }
                // The rest of a path that began with a type, or with `::` for all crates.
                Token::Separator => {
                    self.at += 1;
                    self.read_path();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Reads names with `::` between them; a generic argument ends the path.
    fn read_path(&mut self) -> Vec<String> {
        let mut path = Vec::new();
        while let Some(word) = self.word(0) {
            path.push(word.to_owned());
            self.at += 1;
            if self.token(0) != Some(&Token::Separator) || self.word(1).is_none() {
                break;
            }
            self.at += 1;
        }
        path
    }

    /// Reads a `use` tree after a prefix, up to its end, with the names that it brings in.
    fn read_use(&mut self, prefix: &[String], names: &mut Vec<Name>) {
        let is_of_a_crate = self.token(0) == Some(&Token::Separator) && prefix.is_empty();
        if self.token(0) == Some(&Token::Separator) {
            self.at += 1;
        }
        let line = self.line();
        let mut path = prefix.to_vec();
        path.extend(self.read_path());
        if self.token(0) == Some(&Token::Separator) {
            self.at += 1;
        }
        if self.is(0, '{') {
            self.at += 1;
            while self.token(0).is_some() && !self.is(0, '}') {
                self.read_use(&path, names);
                if self.is(0, ',') {
                    self.at += 1;
                }
            }
            self.at += 1;
            return;
        }
        if self.is(0, '*') {
            self.at += 1;
            names.push(Name { name: None, path, line });
            return;
        }
        // `self` in a group is the module that the group is taken from.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let mut name = path.last().cloned();
        if self.word(0) == Some("as") {
            name = self.word(1).map(str::to_owned);
            self.at += 2;
        }
        if !is_of_a_crate {
            names.push(Name { name, path, line });
        }
    }
}
