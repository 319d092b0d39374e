// The one decoder of every family, as DecoderConfig says: embeddings, scaled or with positions added; per layer a norm,
// attention, perhaps a norm behind it, a second norm and a plain or gated MLP, perhaps a norm behind it, one after the
// other or side by side; a final norm; output weights of their own or tied, logits perhaps capped. lenbench's own
// family is the Gemma-2-shaped decoder of the reference (paper.md 3.1). No dropout. Letters: B rows of a batch, T
// tokens, E width, H query heads, G key/value heads, D head size, Q judged rows of a batch row, N rows in all, V
// vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/attend.h"
#include "attention/position.h"
#include "attention/transform.h"
#include "bench/predictor.h"
#include "checkpoint/config.h"

namespace lenbench {

class SequenceShare;

using NamedTensor = std::pair<std::string, at::Tensor>;

// How a model starts from scratch.
struct InitOptions {
  // Linear maps and the output layer: uniform in +-1/sqrt(fan in) (PyTorch's default), or normal.
  enum class Linear { kUniformFanIn, kNormal };
  Linear linear = Linear::kUniformFanIn;
  double linear_std = 0.02;     // kNormal
  double embedding_std = 0.02;  // before the multiplication by sqrt(E)
  // ASEntmax scaler projections: weights N(0, std) (the reference: 0.02; 0 is the neutral start), and the biases of
  // beta such that softplus(bias) = scaler_beta (the reference: bias 0, beta = ln 2). Without proj_bias it must be
  // ln 2.
  double scaler_weight_std = 0.02;
  double scaler_beta = 0.6931471805599453;
};

// Which rows of a batch are wanted, and what is measured on the way.
struct EvaluationRequest {
  at::Tensor tokens_BT;     // int64, each in [0, V); rows shorter than T are padded on the right with any token
  at::Tensor positions_BQ;  // int64 [B, Q]: the wanted rows; -1: none (padding of the list)
  AttentionPath path = AttentionPath::kAuto;
  // kAnswer: statistics of the wanted rows; kAll and kPrefix: of the first `lengths[b]` rows of each batch row.
  ProbeRows probe = ProbeRows::kNone;
  std::vector<std::int64_t> lengths;        // [B] tokens of each row; empty: T. Needed for kAll and kPrefix
  at::Tensor source_keys_BQ;                // int64 [B, Q]: keys for source mass, -1: none; undefined: none at all
  std::vector<HeadStats>* stats = nullptr;  // [layers * H], layer-major, added to
  // Sees each layer's request before it is answered; every row of the last layer is then computed, wanted or not.
  std::function<void(std::int64_t layer, const AttendRequest& request)> on_attend;
  // Answers in place of attend(); for whole texts on one rank.
  std::function<at::Tensor(const AttendRequest& request)> attend_instead;
  double* attention_seconds = nullptr;  // added to: wall-clock time inside attend
  // kAnswer: receives for each layer the statistics of the wanted rows, [B, H, Q]; needs `stats`.
  std::vector<RowStatistics>* wanted_rows = nullptr;
  // kPrefix: statistics by position_bucket, each [layers * H], layer-major, added to; needs `stats`.
  std::vector<std::vector<HeadStats>>* by_position = nullptr;
  // Receives the residual stream [B, E] at the last wanted row, before the first block and after each.
  std::vector<at::Tensor>* states = nullptr;
  // Not null, and not whole: this rank holds these rows alone, among them every wanted one, and its statistics are of
  // them; the other ranks make the same request for theirs. Decoders on the CPU; not with by_position, on_attend
  // and attend_instead.
  const SequenceShare* share = nullptr;
};

// What can be trained and asked: a configuration, its parameters, and outputs at the rows that are wanted.
class SequenceModel {
 public:
  virtual ~SequenceModel() = default;
  const DecoderConfig& config() const { return config_; }
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  // std::invalid_argument for an unknown name.
  const at::Tensor& parameter(const std::string& name) const;
  at::ScalarType dtype() const { return dtype_; }
  // [layers * H]; see Probe::head_alpha. Empty: not known.
  virtual std::vector<double> head_alpha() const { return {}; }
  // [H]; see Probe::head_has_position.
  virtual std::vector<bool> head_has_position() const = 0;
  // The last key that the row of a token sees, and the key that a token is, for positions of any shape; keys_of(-1) is
  // -1.
  virtual at::Tensor last_keys(const at::Tensor& positions) const { return positions; }
  virtual at::Tensor keys_of(const at::Tensor& positions) const { return positions; }

  // Training: logits [N, num_outputs] at `rows_N` (int64, b * T + t), differentiable in every parameter that requires a
  // gradient.
  virtual at::Tensor forward(const at::Tensor& tokens_BT, const at::Tensor& rows_N) const = 0;
  // Evaluation, without gradient: what logits() reads at the wanted rows, [B, Q, E]; rows with position -1 hold finite
  // values without meaning.
  virtual at::Tensor hidden(const EvaluationRequest& request) const = 0;
  // [N, E] from `hidden` to [N, config().num_outputs()]. `output_VE` is output_weights(), which a caller with many
  // calls keeps.
  virtual at::Tensor logits(const at::Tensor& hidden_NE, const at::Tensor& output_VE) const = 0;
  at::Tensor logits(const at::Tensor& hidden_NE) const { return logits(hidden_NE, output_weights()); }
  // What `logits` multiplies by, in the type of computation; undefined for models that keep it themselves.
  virtual at::Tensor output_weights() const { return {}; }

 protected:
  // `parameters` are exactly those of tensor_specs(config), in that order, on one device; std::invalid_argument
  // otherwise. Tensors are shared, not copied: an optimizer that changes them in place changes the model. `compute` is
  // fp32 or fp64. Throws Error for a configuration out of range.
  SequenceModel(DecoderConfig config, std::vector<NamedTensor> parameters, at::ScalarType compute);

  const at::Tensor* find_parameter(const std::string& name) const;  // null: there is none

  DecoderConfig config_;
  std::vector<NamedTensor> parameters_;
  at::ScalarType dtype_;
};

// New parameters on the CPU for any configuration; a pure function of its arguments for one version of LibTorch.
std::vector<NamedTensor> initial_parameters(const DecoderConfig& config, std::uint64_t seed,
                                            const InitOptions& options = {}, at::ScalarType dtype = at::kFloat);

// The model that the configuration describes, a decoder or a model of sets (set_model.h), computing in `compute`, or in
// the type that all parameters have.
std::unique_ptr<SequenceModel> make_model(DecoderConfig config, std::vector<NamedTensor> parameters,
                                          at::ScalarType compute);
std::unique_ptr<SequenceModel> make_model(DecoderConfig config, std::vector<NamedTensor> parameters);

class Decoder final : public SequenceModel {
 public:
  // Requires config.item_classes == 0. Parameters of another type than `compute` are converted a layer at a time
  // whenever they are needed, which keeps a large model at its stored size.
  Decoder(DecoderConfig config, std::vector<NamedTensor> parameters, at::ScalarType compute);
  // All parameters of one type, in which it computes.
  Decoder(DecoderConfig config, std::vector<NamedTensor> parameters);

  // From initial_parameters().
  static Decoder initialise(const DecoderConfig& config, std::uint64_t seed, const InitOptions& options = {},
                            at::ScalarType dtype = at::kFloat);

  std::vector<bool> head_has_position() const override { return position_->head_has_position(); }
  std::vector<double> head_alpha() const override;

  // Nothing is chunked: T is meant to be short.
  at::Tensor forward(const at::Tensor& tokens_BT, const at::Tensor& rows_N) const override;

  // In chunks of T: the output of the final norm. The last layer computes queries and MLP for the wanted rows only (all
  // rows under kAll). Peak memory is about 5 * B * T * max(E, H * D) elements plus a constant, with a share that of
  // its rows and one head's keys and values.
  at::Tensor hidden(const EvaluationRequest& request) const override;

  using SequenceModel::logits;
  at::Tensor logits(const at::Tensor& hidden_NE, const at::Tensor& output_VE) const override;
  at::Tensor output_weights() const override;

  // Rows that `hidden` handles at a time in projections and MLP, per batch row.
  std::int64_t chunk_tokens(std::int64_t batch) const;

 private:
  struct Affine {
    at::Tensor weight, bias;  // [out, in] and [out], or a norm's [E]; undefined where there is none
  };
  struct Layer {
    std::int64_t index = 0;
    Affine input_norm, post_attention_norm, pre_mlp_norm, post_mlp_norm;
    Affine q, k, v, o, q_norm, k_norm;
    Affine gate, up, down;
    TransformWeights transform;
  };
  struct Projected {
    at::Tensor q_BHQD, k_BGKD, v_BGKD;
  };
  // The tokens of each text, for encodings that depend on them.
  using Lengths = std::span<const std::int64_t>;

  Affine affine(const std::string& name) const;
  at::Tensor in_compute_type(const at::Tensor& parameter) const;
  // A layer with every weight in the type of computation.
  Layer ready(std::size_t layer) const;
  at::Tensor linear(const at::Tensor& x, const Affine& map) const;
  at::Tensor norm(const at::Tensor& x, const Affine& weights) const;
  at::Tensor embed(const at::Tensor& tokens_BT, std::int64_t first_position) const;
  at::Tensor queries(const Layer& layer, const at::Tensor& h_BTE, const at::Tensor& positions_BT,
                     Lengths lengths) const;
  at::Tensor keys(const Layer& layer, const at::Tensor& h_BTE, const at::Tensor& positions_BT, Lengths lengths) const;
  at::Tensor values(const Layer& layer, const at::Tensor& h_BTE) const;
  at::Tensor mlp(const Layer& layer, const at::Tensor& h) const;
  // The block's output from attention's result, [..., H * D], and the residual stream before it, [..., E].
  at::Tensor finish_block(const Layer& layer, const at::Tensor& x, const at::Tensor& attended) const;
  AttendRequest attend_request(const Layer& layer, Projected projected, at::Tensor positions_BQ) const;
  // The residual stream of the rows held before the first block, [B, R, E].
  at::Tensor embed_rows(const at::Tensor& tokens_BT, const SequenceShare& share) const;
  // Adds the query scales of the wanted rows to a layer's heads; x_BRE is the residual stream before the block.
  void add_scales(const Layer& layer, const at::Tensor& x_BRE, const at::Tensor& positions_BQ,
                  const SequenceShare& share, std::vector<HeadStats>& stats) const;
  Projected project(const Layer& layer, const at::Tensor& x_BRE, const at::Tensor& positions_1R, bool with_queries,
                    Lengths lengths) const;

  std::shared_ptr<const PositionEncoding> position_;
  std::shared_ptr<const AttentionTransform> transform_;
  std::vector<double> slopes_;
  at::Tensor embedding_VE_, positions_PE_, head_VE_;
  Affine final_norm_;
  std::vector<Layer> layers_;
};

// What attention/ makes of a configuration.
PositionSpec position_spec(const DecoderConfig& config);
TransformSpec transform_spec(const DecoderConfig& config);

}  // namespace lenbench
