//! Providers of models: one folder per wire API, and the offline provider, which plays scenario
//! files. Each makes one attempt at one request; retries are the engine's policy.

mod access_tokens;
mod answer_parser;
mod anthropic_messages;
mod api;
mod api_adapter;
mod blocks;
mod body_parser;
mod call_ids;
mod catalogue;
mod endpoint;
mod error_body;
mod exchange;
mod failure;
mod fetch;
mod google_generative_ai;
mod history;
mod http_client;
mod known_model;
mod known_providers;
mod local_servers;
mod model_facts;
mod oauth;
mod offline;
mod openai_completions;
mod openai_responses;
mod preflight;
mod price_tiers;
mod printable;
mod provider;
mod proxy;
mod rate;
mod rate_limits;
mod response_body;
mod retry_after;
mod sse;
#[cfg(test)]
mod test_support;
mod thinking_refusals;
mod trust;
mod usage;
mod user_provider;

pub use access_tokens::AccessTokens;
pub use catalogue::{Catalogue, CatalogueConfig, KeyLookup};
pub use fetch::{LARGEST_DOCUMENT, fetch_document};
pub use known_providers::{
    KnownProvider, Site, key_variables, known_providers, own_key_variables, setup_hints,
};
pub use local_servers::{LocalFound, LocalServer, local_servers};
pub use model_facts::{
    FactsError, FactsTable, ModelFacts, ModelsDevError, ProviderFacts, Refreshed, parse_models_dev,
};
pub use oauth::{
    BrowserLogin, DeviceLogin, Granted, LoginError, LoginService, OauthConfig, OauthTexts,
    PlainHttp, RedirectListener, Tokens, renewed,
};
pub use price_tiers::{PriceTier, PriceTiers};
pub use rate::Rate;
pub use usage::{Price, PriceSource};
pub use user_provider::{NamedKey, NoUserProviders, UserProvider, UserProviders};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
