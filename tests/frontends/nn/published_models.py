"""Models of Hugging Face in their published configurations, narrower and of one layer.

Widths, heads, layers, words and places are fewer; all else is as published. Inputs are what follows
the look-up of words, or pixels, or what a spectrogram has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch
import transformers as hf
from torch import Tensor, nn

_SAMPLES, _TOKENS, _WIDTH, _WORDS = 24, 4, 16, 40

Inputs: TypeAlias = Mapping[str, Tensor]
Model: TypeAlias = tuple[Callable[[], Any], Mapping[str, tuple[int, ...]]]

_LAYERS: Mapping[str, Any] = {
    "hidden_size": _WIDTH,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 2 * _WIDTH,
}
_OF_WORDS: Mapping[str, Any] = {**_LAYERS, "vocab_size": _WORDS}
_DECODER: Mapping[str, Any] = {**_OF_WORDS, "use_cache": False, "pad_token_id": 0}
_GROUPED: Mapping[str, Any] = {**_DECODER, "num_key_value_heads": 1}
_PATCHES: Mapping[str, Any] = {**_LAYERS, "image_size": 8, "patch_size": 4}
_GPT2: Mapping[str, Any] = {"n_embd": _WIDTH, "n_layer": 1, "n_head": 2, "vocab_size": _WORDS}

_EMBEDDED = {"inputs_embeds": (_TOKENS, _WIDTH)}
_PIXELS = {"pixel_values": (3, 8, 8)}


def _distilbert() -> Any:
    config = hf.DistilBertConfig(
        dim=_WIDTH, n_layers=1, n_heads=2, hidden_dim=2 * _WIDTH, vocab_size=_WORDS
    )
    return hf.DistilBertForSequenceClassification(config)


def _deberta() -> Any:
    config = hf.DebertaV2Config(
        **_OF_WORDS,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=8,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        position_biased_input=False,
        type_vocab_size=0,
    )
    return hf.DebertaV2ForSequenceClassification(config)


def _modern_bert() -> Any:
    numbers = dict.fromkeys(("bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id"), 1)
    return hf.ModernBertModel(hf.ModernBertConfig(**_OF_WORDS, **numbers, pad_token_id=0))


def _opt() -> Any:
    config = hf.OPTConfig(
        hidden_size=_WIDTH,
        num_hidden_layers=1,
        ffn_dim=2 * _WIDTH,
        num_attention_heads=2,
        vocab_size=_WORDS,
        word_embed_proj_dim=_WIDTH,
        use_cache=False,
    )
    return hf.OPTForCausalLM(config)


def _flan_t5() -> Any:
    config = hf.T5Config(
        d_model=_WIDTH,
        d_kv=8,
        d_ff=2 * _WIDTH,
        num_layers=1,
        num_heads=2,
        vocab_size=_WORDS,
        feed_forward_proj="gated-gelu",
    )
    return hf.T5EncoderModel(config)


def _whisper() -> Any:
    config = hf.WhisperConfig(
        d_model=_WIDTH,
        encoder_layers=1,
        encoder_attention_heads=2,
        encoder_ffn_dim=2 * _WIDTH,
        decoder_layers=1,
        decoder_attention_heads=2,
        vocab_size=_WORDS,
        num_mel_bins=4,
        max_source_positions=_TOKENS,
        **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0),
        decoder_start_token_id=1,
    )
    return hf.WhisperModel(config).encoder


def _wav2vec2() -> Any:
    config = hf.Wav2Vec2Config(
        **_OF_WORDS,
        conv_dim=[8, 8],
        conv_stride=[4, 2],
        conv_kernel=[4, 2],
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
    )
    return hf.Wav2Vec2Model(config)


def _clip() -> Any:
    return hf.CLIPVisionModel(hf.CLIPVisionConfig(**_PATCHES))


def _dinov2() -> Any:
    config = dict(_PATCHES)
    del config["intermediate_size"]
    return hf.Dinov2Model(hf.Dinov2Config(**config))


def _swin() -> Any:
    config = hf.SwinConfig(
        image_size=8, patch_size=2, embed_dim=8, depths=[1], num_heads=[2], window_size=2
    )
    return hf.SwinForImageClassification(config)


def _convnext() -> Any:
    config = hf.ConvNextConfig(hidden_sizes=[4, 8], depths=[1, 1], num_stages=2, patch_size=2)
    return hf.ConvNextForImageClassification(config)


def _resnet() -> Any:
    config = hf.ResNetConfig(
        embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic"
    )
    return hf.ResNetForImageClassification(config)


COMPILED: Mapping[str, Model] = {
    "google-bert/bert-base-uncased": (
        lambda: hf.BertForSequenceClassification(hf.BertConfig(**_OF_WORDS)),
        _EMBEDDED,
    ),
    "sentence-transformers/all-MiniLM-L6-v2": (
        lambda: hf.BertModel(hf.BertConfig(**_OF_WORDS)),
        _EMBEDDED,
    ),
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english": (_distilbert, _EMBEDDED),
    "FacebookAI/roberta-base": (
        lambda: hf.RobertaForSequenceClassification(hf.RobertaConfig(**_OF_WORDS)),
        _EMBEDDED,
    ),
    "FacebookAI/xlm-roberta-base": (
        lambda: hf.XLMRobertaForTokenClassification(hf.XLMRobertaConfig(**_OF_WORDS)),
        _EMBEDDED,
    ),
    "sentence-transformers/all-mpnet-base-v2": (
        lambda: hf.MPNetModel(hf.MPNetConfig(**_OF_WORDS)),
        _EMBEDDED,
    ),
    "google/electra-base-discriminator": (
        lambda: hf.ElectraForSequenceClassification(
            hf.ElectraConfig(**_OF_WORDS, embedding_size=_WIDTH)
        ),
        _EMBEDDED,
    ),
    "albert/albert-base-v2": (
        lambda: hf.AlbertModel(hf.AlbertConfig(**_OF_WORDS, embedding_size=8)),
        {"inputs_embeds": (_TOKENS, 8)},
    ),
    "microsoft/deberta-v3-base": (_deberta, _EMBEDDED),
    "answerdotai/ModernBERT-base": (_modern_bert, _EMBEDDED),
    "google/flan-t5-small": (_flan_t5, _EMBEDDED),
    "openai-community/gpt2": (
        lambda: hf.GPT2LMHeadModel(hf.GPT2Config(**_GPT2, use_cache=False)),
        _EMBEDDED,
    ),
    "facebook/opt-125m": (_opt, _EMBEDDED),
    "bigscience/bloom-560m": (
        lambda: hf.BloomForCausalLM(
            hf.BloomConfig(
                hidden_size=_WIDTH, n_layer=1, n_head=2, vocab_size=_WORDS, use_cache=False
            )
        ),
        _EMBEDDED,
    ),
    "EleutherAI/pythia-70m": (
        lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**_DECODER)),
        _EMBEDDED,
    ),
    "meta-llama/Llama-3.2-1B": (
        lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**_GROUPED)),
        _EMBEDDED,
    ),
    "mistralai/Mistral-7B-v0.1": (
        lambda: hf.MistralForCausalLM(hf.MistralConfig(**_GROUPED)),
        _EMBEDDED,
    ),
    "Qwen/Qwen3-0.6B": (
        lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(**_GROUPED, head_dim=8)),
        _EMBEDDED,
    ),
    "google/gemma-2b": (
        lambda: hf.GemmaForCausalLM(hf.GemmaConfig(**_GROUPED, head_dim=8)),
        _EMBEDDED,
    ),
    "microsoft/phi-2": (lambda: hf.PhiForCausalLM(hf.PhiConfig(**_DECODER)), _EMBEDDED),
    "google/vit-base-patch16-224": (
        lambda: hf.ViTForImageClassification(hf.ViTConfig(**_PATCHES)),
        _PIXELS,
    ),
    "facebook/dinov2-small": (_dinov2, _PIXELS),
    "openai/clip-vit-base-patch32": (_clip, _PIXELS),
    "microsoft/swin-tiny-patch4-window7-224": (_swin, _PIXELS),
    "facebook/convnext-tiny-224": (_convnext, _PIXELS),
    "microsoft/resnet-18": (_resnet, {"pixel_values": (3, 16, 16)}),
    "openai/whisper-tiny": (_whisper, {"input_features": (4, 2 * _TOKENS)}),
    "facebook/wav2vec2-base": (_wav2vec2, {"input_values": (64,)}),
}

# What refuses each of these, by the line of its forward and what would do.
REFUSED: Mapping[str, tuple[Model, str]] = {
    "mistralai/Mixtral-8x7B-v0.1": (
        (
            lambda: hf.MixtralForCausalLM(hf.MixtralConfig(**_GROUPED, num_local_experts=2)),
            _EMBEDDED,
        ),
        r"modeling_mixtral\.py:\d+: .*decide nothing by their numbers",
    ),
    "google/fnet-base": (
        (
            lambda: hf.FNetModel(
                hf.FNetConfig(
                    hidden_size=_WIDTH, num_hidden_layers=1, intermediate_size=8, vocab_size=_WORDS
                )
            ),
            _EMBEDDED,
        ),
        r"layer 'encoder\.layer\.0\.fourier.*got fft_fftn, at .*modeling_fnet\.py:\d+: ",
    ),
}


def made(model: Model) -> tuple[nn.Module, Inputs]:
    """A model with weights as large as trained ones, in eval mode, and inputs for it."""
    make, shapes = model
    torch.manual_seed(0)
    module = make().eval()
    for name, weights in module.named_parameters():
        if weights.ndim > 1:
            nn.init.normal_(weights, std=0.7 * weights[0].numel() ** -0.5)
        elif "bias" in name:
            nn.init.normal_(weights, std=0.1)
    return module, {name: 0.7 * torch.randn(_SAMPLES, *shape) for name, shape in shapes.items()}
