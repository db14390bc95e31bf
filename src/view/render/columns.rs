//! Table definitions for the items of an answer in the SQL of several engines, derived from the JSON schema, so that
//! they match the output.

use serde_json::{Map, Value};

/// An engine that queries the lists of many machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Engine {
    /// ClickHouse: a table that keeps the newest state of each session.
    ClickHouse,
    /// `DuckDB`: a view of the files in their place.
    DuckDb,
}

impl Engine {
    /// Returns the name on the command line.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the definition for the sessions in the schema of `list`.
    pub(crate) fn sessions(self, schema: &Value) -> String {
        let fields = properties(resolved(&schema["properties"]["sessions"]["items"], schema));
        let columns = fields.iter().map(|(name, field)| match self {
            Self::ClickHouse => format!("    `{name}` {}", self.column(field, schema)),
            Self::DuckDb => format!("    {name}: '{}'", self.column(field, schema).replace('\'', "''")),
        });
        let columns = columns.collect::<Vec<_>>().join(",\n");
        match self {
            Self::ClickHouse => format!(
                "CREATE TABLE IF NOT EXISTS sessions (\n    `day` Date,\n    `host` LowCardinality(String),\n{columns}\n)\n\
                 ENGINE = ReplacingMergeTree(day)\nORDER BY (host, agent, id);\n"
            ),
            Self::DuckDb => format!(
                "CREATE OR REPLACE MACRO sessions_in(files) AS TABLE\n\
                 SELECT * FROM read_json(files, format = 'newline_delimited', hive_partitioning = true, columns = {{\n{columns}\n}});\n"
            ),
        }
    }

    fn column(self, field: &Value, schema: &Value) -> String {
        let (field, is_nullable) = without_null(field);
        let field = resolved(field, schema);
        let is = |name: &str| {
            field["type"] == name || field["type"].as_array().is_some_and(|all| all.contains(&name.into()))
        };
        let is_nullable = is_nullable || is("null");
        let is_word = field.get("enum").is_some() || field.get("oneOf").is_some();
        let word = |clickhouse: &str, duckdb: &str| match self {
            Self::ClickHouse if is_nullable => format!("Nullable({clickhouse})"),
            Self::ClickHouse => clickhouse.to_owned(),
            Self::DuckDb => duckdb.to_owned(),
        };
        if is("array") {
            let item = self.column(&field["items"], schema);
            return if self == Self::ClickHouse { format!("Array({item})") } else { format!("{item}[]") };
        }
        if is("object") {
            return self.object(field, schema);
        }
        match () {
            () if is_word && self == Self::ClickHouse => "LowCardinality(String)".to_owned(),
            () if is("boolean") => word("Bool", "BOOLEAN"),
            () if is("integer") => word("UInt64", "UBIGINT"),
            () if field["format"] == "date-time" => word("DateTime64(9, 'UTC')", "TIMESTAMP"),
            () => word("String", "VARCHAR"),
        }
    }

    fn object(self, field: &Value, schema: &Value) -> String {
        let fields = properties(field);
        if fields.is_empty() {
            let map = ["Map(String, String)", "MAP(VARCHAR, VARCHAR)"];
            return map[usize::from(self == Self::DuckDb)].to_owned();
        }
        let columns = fields.iter().map(|(name, field)| match self {
            Self::ClickHouse => format!("`{name}` {}", self.column(field, schema)),
            Self::DuckDb => format!("\"{name}\" {}", self.column(field, schema)),
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let kind = if self == Self::ClickHouse { "Tuple" } else { "STRUCT" };
        format!("{kind}({columns})")
    }
}

fn properties(object: &Value) -> Map<String, Value> {
    object["properties"].as_object().cloned().unwrap_or_default()
}

/// Follows a reference to a definition.
fn resolved<'a>(field: &'a Value, schema: &'a Value) -> &'a Value {
    let place = field["$ref"].as_str().and_then(|place| place.strip_prefix('#'));
    place.and_then(|place| schema.pointer(place)).unwrap_or(field)
}

/// Returns the type of a field without `null`, and whether `null` is allowed.
fn without_null(field: &Value) -> (&Value, bool) {
    let choices = field["anyOf"].as_array();
    let some = choices.and_then(|choices| choices.iter().find(|choice| choice["type"] != "null"));
    some.map_or((field, false), |some| (some, true))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_of_the_schema_is_a_column() {
        let session = json!({ "properties": {
            "agent": { "$ref": "#/$defs/Word" },
            "at": { "type": ["string", "null"], "format": "date-time" },
            "copies": { "type": "array", "items": { "type": "object", "properties": { "size": { "type": "integer" } } } },
            "dir": { "anyOf": [{ "$ref": "#/$defs/Dir" }, { "type": "null" }] },
            "pinned": { "type": "boolean" },
        } });
        let schema = json!({
            "properties": { "sessions": { "items": { "$ref": "#/$defs/Session" } } },
            "$defs": {
                "Session": session,
                "Word": { "enum": ["a", "b"], "type": "string" },
                "Dir": { "type": "object", "properties": { "path": { "type": ["string", "null"] } } },
            },
        });
        let clickhouse = Engine::ClickHouse.sessions(&schema);
        for column in [
            "`agent` LowCardinality(String)",
            "`at` Nullable(DateTime64(9, 'UTC'))",
            "`copies` Array(Tuple(`size` UInt64))",
            "`dir` Tuple(`path` Nullable(String))",
            "`pinned` Bool",
        ] {
            assert!(clickhouse.contains(column), "{clickhouse}");
        }
        let duckdb = Engine::DuckDb.sessions(&schema);
        for column in ["agent: 'VARCHAR'", "copies: 'STRUCT(\"size\" UBIGINT)[]'", "dir: 'STRUCT(\"path\" VARCHAR)'"] {
            assert!(duckdb.contains(column), "{duckdb}");
        }
    }
}
