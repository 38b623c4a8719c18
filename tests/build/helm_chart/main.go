// Lints a chart and renders its objects by Helm's own packages, as `helm lint --strict` and
// `helm template` do. It is not helm: what talks to clusters and registries is most of that, and
// takes longer to compile than everything here.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/strvals"
)

const usage = "usage: helm_chart lint|template --kube-version V [--namespace N] [--set K=V]... CHART"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return errors.New(usage)
	}
	values := map[string]any{}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	version := flags.String("kube-version", "", "version of Kubernetes")
	namespace := flags.String("namespace", "default", "of the release")
	flags.Func("set", "a value, as PATH=VALUE", func(text string) error {
		return strvals.ParseInto(text, values)
	})
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	kubernetes, err := chartutil.ParseKubeVersion(*version)
	if err != nil || flags.NArg() != 1 {
		return errors.Join(errors.New(usage), err)
	}
	switch arguments[0] {
	case "lint":
		return lintStrictly(flags.Arg(0), *namespace, kubernetes, values)
	case "template":
		return template(flags.Arg(0), *namespace, kubernetes, values)
	}
	return errors.New(usage)
}

func lintStrictly(
	folder, namespace string, kubernetes *chartutil.KubeVersion, values map[string]any,
) error {
	linter := lint.AllWithKubeVersion(folder, values, namespace, kubernetes)
	for _, message := range linter.Messages {
		fmt.Println(message)
	}
	if linter.HighestSeverity >= support.WarningSev {
		return errors.New("the chart has warnings or errors")
	}
	return nil
}

// The release is named as its chart.
func template(
	folder, namespace string, kubernetes *chartutil.KubeVersion, values map[string]any,
) error {
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	if err := chartutil.ProcessDependenciesWithMerge(chart, values); err != nil {
		return err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *kubernetes
	release := chartutil.ReleaseOptions{
		Name: chart.Name(), Namespace: namespace, Revision: 1, IsInstall: true,
	}
	merged, err := chartutil.ToRenderValues(chart, values, release, capabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, merged)
	if err != nil {
		return err
	}
	for path := range files {
		if strings.HasSuffix(path, "NOTES.txt") {
			delete(files, path)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	for _, manifest := range manifests {
		fmt.Printf("---\n# Source: %s\n%s\n", manifest.Name, manifest.Content)
	}
	for _, hook := range hooks {
		fmt.Printf("---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
	}
	return nil
}
