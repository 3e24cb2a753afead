//! What a query asks for: its metrics with their matchers.
//!
//! Grafana's own variables are no `PromQL` where a duration stands, so they are replaced first.

use promql_parser::parser::{self, Expr, VectorSelector};

/// Replaces Grafana's interval by one minute, so that a query of a dashboard is `PromQL`.
pub fn with_interval(expr: &str) -> String {
    expr.replace("$__rate_interval", "1m").replace("$__range", "1h")
}

/// One matcher of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    /// The label.
    pub label: String,
    /// `=`, `!=`, `=~` or `!~`.
    pub op: &'static str,
    /// What it is compared with.
    pub value: String,
}

/// A metric with its matchers, wherever it stands in a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The metric's name.
    pub metric: String,
    /// Its matchers, as they are written.
    pub matchers: Vec<Matcher>,
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let matchers: Vec<_> = self.matchers.iter().map(|m| format!("{}{}{:?}", m.label, m.op, m.value)).collect();
        write!(f, "{}{{{}}}", self.metric, matchers.join(","))
    }
}

/// The selectors of a query, in the order in which they stand.
///
/// ```
/// let found = dashboards::promql::selectors("rate(a_total{x=~\"1|2\"}[5m]) / on () (b > 0)")?;
/// let found: Vec<_> = found.iter().map(ToString::to_string).collect();
/// assert_eq!(found, ["a_total{x=~\"1|2\"}", "b{}"]);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// Why it is no `PromQL`.
pub fn selectors(expr: &str) -> Result<Vec<Selector>, String> {
    let mut found = Vec::new();
    collect(&parser::parse(&with_interval(expr))?, &mut found);
    Ok(found)
}

fn collect(expr: &Expr, found: &mut Vec<Selector>) {
    match expr {
        Expr::Aggregate(aggregate) => collect(&aggregate.expr, found),
        Expr::Unary(unary) => collect(&unary.expr, found),
        Expr::Binary(binary) => {
            collect(&binary.lhs, found);
            collect(&binary.rhs, found);
        }
        Expr::Paren(paren) => collect(&paren.expr, found),
        Expr::Subquery(subquery) => collect(&subquery.expr, found),
        Expr::VectorSelector(selector) => found.push(read(selector)),
        Expr::MatrixSelector(matrix) => found.push(read(&matrix.vs)),
        Expr::Call(call) => call.args.args.iter().for_each(|argument| collect(argument, found)),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::Extension(_) => {}
    }
}

fn read(selector: &VectorSelector) -> Selector {
    use promql_parser::label::MatchOp;
    let matchers = selector.matchers.matchers.iter().map(|matcher| Matcher {
        label: matcher.name.clone(),
        op: match matcher.op {
            MatchOp::Equal => "=",
            MatchOp::NotEqual => "!=",
            MatchOp::Re(_) => "=~",
            MatchOp::NotRe(_) => "!~",
        },
        value: matcher.value.clone(),
    });
    Selector { metric: selector.name.clone().unwrap_or_default(), matchers: matchers.collect() }
}
