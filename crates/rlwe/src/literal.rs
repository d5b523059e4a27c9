//! Parameters as a person writes them (temporary).
use crate::chain::{Chain, ChainRequest};
use crate::{Result, security};
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SecretDistribution {
    Ternary,
    FixedWeight(usize),
}
#[derive(Debug, Clone, PartialEq)]
pub struct ParametersLiteral {
    pub log_n: Option<u32>,
    pub levels: usize,
    pub scale_bits: f64,
    pub headroom_bits: f64,
    pub digits: Option<usize>,
    pub secret: SecretDistribution,
    pub insecure: bool,
}
impl Default for ParametersLiteral {
    fn default() -> Self {
        Self {
            log_n: None,
            levels: 1,
            scale_bits: 40.0,
            headroom_bits: 10.0,
            digits: None,
            secret: SecretDistribution::Ternary,
            insecure: false,
        }
    }
}
impl ParametersLiteral {
    pub fn is_secure(&self) -> bool {
        !self.insecure
    }
    pub fn chain(&self) -> Result<(u32, Chain)> {
        let log_n = self.log_n.unwrap_or(14);
        let max_log_qp = if self.insecure { None } else { security::max_log_qp(log_n) };
        Ok((
            log_n,
            Chain::new(&ChainRequest {
                log_n,
                levels: self.levels,
                scale_bits: self.scale_bits,
                headroom_bits: self.headroom_bits,
                digits: self.digits,
                max_log_qp,
            })?,
        ))
    }
}
